#include "service/cursor.hpp"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <type_traits>

#include "model/error.hpp"

namespace comptroller::service {

namespace {

constexpr int base64_variant = sodium_base64_VARIANT_URLSAFE_NO_PADDING;

using Position = std::array<unsigned char, 16>;  // created_at, key
using Nonce = std::array<unsigned char, crypto_aead_xchacha20poly1305_ietf_NPUBBYTES>;
using ShortNonce = std::array<unsigned char, crypto_shorthash_siphashx24_BYTES>;
using Box = std::array<unsigned char,
                       std::tuple_size_v<Position> + crypto_aead_xchacha20poly1305_ietf_ABYTES>;

template <class OwnNonce>
struct Cursor {
  static constexpr unsigned char own_version = std::is_same_v<OwnNonce, ShortNonce> ? 2 : 3;

  unsigned char version = own_version;
  OwnNonce nonce{};
  Box box{};
};
static_assert(sizeof(Cursor<ShortNonce>) == 1 + sizeof(ShortNonce) + sizeof(Box));
static_assert(sizeof(Cursor<Nonce>) == 1 + sizeof(Nonce) + sizeof(Box));

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

void write_number(unsigned char* out, std::int64_t number) {
  for (std::size_t i = 0; i < 8; ++i) {
    out[i] = static_cast<unsigned char>(static_cast<std::uint64_t>(number) >> (56U - 8U * i));
  }
}

std::int64_t read_number(const unsigned char* bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < 8; ++i) number = number << 8U | bytes[i];
  return static_cast<std::int64_t>(number);
}

// A hash of all that is encrypted and authenticated, so that a nonce is not used for two positions.
ShortNonce nonce_of(const CursorKeys& keys, std::string_view list, const Position& position) {
  std::array<unsigned char, crypto_shorthash_siphashx24_BYTES + sizeof(Position)> hashed{};
  crypto_shorthash_siphashx24(hashed.data(), bytes_of(list), list.size(), keys.nonces.data());
  std::ranges::copy(position, hashed.begin() + crypto_shorthash_siphashx24_BYTES);
  ShortNonce nonce{};
  crypto_shorthash_siphashx24(nonce.data(), hashed.data(), hashed.size(), keys.nonces.data());
  return nonce;
}

template <class OwnNonce>
Nonce padded(const OwnNonce& nonce) {
  Nonce padded{};
  std::ranges::copy(nonce, padded.begin());
  return padded;
}

template <class OwnNonce>
std::string text_of(const Cursor<OwnNonce>& cursor) {
  std::string text(sodium_base64_ENCODED_LEN(sizeof cursor, base64_variant), '\0');
  sodium_bin2base64(text.data(), text.size(), reinterpret_cast<const unsigned char*>(&cursor),
                    sizeof cursor, base64_variant);
  text.pop_back();  // the terminating zero
  return text;
}

Position bytes_of(const store::Position& position) {
  Position plain{};
  write_number(plain.data(), position.created_at);
  write_number(plain.data() + 8, position.key);
  return plain;
}

template <class OwnNonce>
std::string seal(const CursorKeys& keys, std::string_view list, const Position& plain,
                 const OwnNonce& nonce) {
  Cursor<OwnNonce> cursor{.nonce = nonce};
  crypto_aead_xchacha20poly1305_ietf_encrypt(cursor.box.data(), nullptr, plain.data(), plain.size(),
                                             bytes_of(list), list.size(), nullptr,
                                             padded(nonce).data(), keys.encryption.data());
  return text_of(cursor);
}

// Returns the position of a cursor with such a nonce; nullopt for any other text.
template <class OwnNonce>
std::optional<store::Position> open(const CursorKeys& keys, std::string_view list,
                                    std::string_view text) {
  Cursor<OwnNonce> cursor;
  std::size_t size = 0;
  const bool is_decoded =
      sodium_base642bin(reinterpret_cast<unsigned char*>(&cursor), sizeof cursor, text.data(),
                        text.size(), nullptr, &size, nullptr, base64_variant) == 0 &&
      size == sizeof cursor && cursor.version == cursor.own_version &&
      text_of(cursor) == text;  // the decoder accepts several texts for the same bytes
  Position plain{};
  if (!is_decoded ||
      crypto_aead_xchacha20poly1305_ietf_decrypt(
          plain.data(), nullptr, nullptr, cursor.box.data(), cursor.box.size(), bytes_of(list),
          list.size(), padded(cursor.nonce).data(), keys.encryption.data()) != 0) {
    return std::nullopt;
  }
  return store::Position{read_number(plain.data()), read_number(plain.data() + 8)};
}

}  // namespace

CursorKeys::CursorKeys(const Secret& secret) {
  crypto_kdf_derive_from_key(nonces.data(), nonces.size(), 2, "cursors", secret.data());
  crypto_kdf_derive_from_key(encryption.data(), encryption.size(), 1, "cursors", secret.data());
}

std::string seal_cursor(const CursorKeys& keys, std::string_view list,
                        const store::Position& position) {
  const Position plain = bytes_of(position);
  return seal(keys, list, plain, nonce_of(keys, list, plain));
}

std::string seal_unlinkable_cursor(const CursorKeys& keys, std::string_view list,
                                   const store::Position& position) {
  Nonce nonce{};
  randombytes_buf(nonce.data(), nonce.size());
  return seal(keys, list, bytes_of(position), nonce);
}

std::optional<store::Position> open_cursor(const CursorKeys& keys, std::string_view list,
                                           std::string_view text, std::string_view parameter) {
  if (text.empty()) return std::nullopt;
  auto position = open<ShortNonce>(keys, list, text);
  if (!position) position = open<Nonce>(keys, list, text);
  if (!position) {
    throw Error::field(Code::invalid_cursor, parameter,
                       "is not a cursor of this list with these filters and this order; "
                       "send the request without a cursor");
  }
  return position;
}

}  // namespace comptroller::service
