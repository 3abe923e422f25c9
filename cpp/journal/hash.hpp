// SHA-256, and the hashes of a Merkle tree (RFC 9162, 2.1.1).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

struct evp_md_ctx_st;  // of OpenSSL

namespace comptroller::journal {

using Hash = std::array<std::uint8_t, 32>;

inline std::string_view bytes_of(const Hash& hash) {
  return {reinterpret_cast<const char*>(hash.data()), hash.size()};
}

// Hashes a stream of bytes. For one thread at a time.
class Sha256 {
 public:
  Sha256();

  void update(std::string_view bytes);
  // Returns the hash of all bytes since the construction or the last call of finish.
  Hash finish();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

Hash sha256(std::string_view bytes);

// The hashes of a leaf and of an inner node begin with different bytes, so that neither can be
// passed off as the other.
Hash leaf_hash(std::string_view content);
Hash node_hash(const Hash& left, const Hash& right);

}  // namespace comptroller::journal
