// Hashes as the published vectors write them.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "journal/hash.hpp"
#include "model/hexadecimal.hpp"

namespace comptroller::journal {

inline Hash hash_from(std::string_view digits) {
  Hash hash{};
  if (digits.size() != 2 * hash.size() ||
      !read_lower_hexadecimal(digits.data(), hash.size(), reinterpret_cast<char*>(hash.data()))) {
    throw std::invalid_argument("not a hash: " + std::string(digits));
  }
  return hash;
}

inline std::string digits_of(const Hash& hash) {
  std::string digits(2 * hash.size(), '\0');
  write_hexadecimal(bytes_of(hash).data(), hash.size(), digits.data());
  return digits;
}

inline std::vector<Hash> hashes_from(std::initializer_list<std::string_view> all) {
  std::vector<Hash> hashes;
  std::ranges::transform(all, std::back_inserter(hashes), hash_from);
  return hashes;
}

}  // namespace comptroller::journal
