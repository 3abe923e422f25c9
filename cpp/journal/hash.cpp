#include "journal/hash.hpp"

#include <openssl/evp.h>

#include <algorithm>

#include "model/error.hpp"

namespace comptroller::journal {

namespace {

void require(bool is_done) {
  if (!is_done) throw Error(Code::unusable, "OpenSSL: SHA-256 is not available");
}

// Fetched once, because a fetch takes longer than the hash of a short text.
const EVP_MD* algorithm() {
  static const EVP_MD* const fetched = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  require(fetched != nullptr);
  return fetched;
}

Sha256& hasher() {
  thread_local Sha256 hasher;
  return hasher;
}

}  // namespace

void Sha256::Free::operator()(evp_md_ctx_st* context) const {
  EVP_MD_CTX_free(context);
}

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  require(context_ && EVP_DigestInit_ex2(context_.get(), algorithm(), nullptr) == 1);
}

void Sha256::update(std::string_view bytes) {
  require(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
}

Hash Sha256::finish() {
  Hash hash{};
  require(EVP_DigestFinal_ex(context_.get(), hash.data(), nullptr) == 1 &&
          EVP_DigestInit_ex2(context_.get(), nullptr, nullptr) == 1);
  return hash;
}

Hash sha256(std::string_view bytes) {
  hasher().update(bytes);
  return hasher().finish();
}

Hash leaf_hash(std::string_view content) {
  using namespace std::string_view_literals;
  hasher().update("\0"sv);
  hasher().update(content);
  return hasher().finish();
}

Hash node_hash(const Hash& left, const Hash& right) {
  // One update of all bytes takes less time than three.
  std::array<char, 1 + 2 * std::tuple_size_v<Hash>> bytes{'\1'};
  std::ranges::copy(bytes_of(left), bytes.begin() + 1);
  std::ranges::copy(bytes_of(right), bytes.begin() + 1 + left.size());
  return sha256({bytes.data(), bytes.size()});
}

}  // namespace comptroller::journal
