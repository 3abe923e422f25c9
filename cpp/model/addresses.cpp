#include "model/addresses.hpp"

#include "model/hexadecimal.hpp"

namespace comptroller {

std::optional<std::string> pack_addresses(const Addresses& addresses) {
  std::string packed(addresses.size() * packed_address_length, '\0');
  char* out = packed.data();
  for (const Label& address : addresses) {
    const std::string& text = address.value;
    if (text.size() != unpacked_address_length || !text.starts_with("0x") ||
        !read_lower_hexadecimal(text.data() + 2, packed_address_length, out)) {
      return std::nullopt;
    }
    out += packed_address_length;
  }
  return packed;
}

void append_unpacked(std::string_view packed20, std::string& out) {
  const std::size_t start = out.size();
  out.resize(start + 2 + 2 * packed20.size());
  out[start] = '0';
  out[start + 1] = 'x';
  write_hexadecimal(packed20.data(), packed20.size(), out.data() + start + 2);
}

}  // namespace comptroller
