#include "service/cursor.hpp"

#include <sodium.h>

#include <algorithm>
#include <cstring>

#include "model/error.hpp"

namespace comptroller::service {

namespace {

constexpr std::size_t position_bytes = 17;  // version, created_at, key
constexpr std::size_t cursor_bytes = position_bytes + sizeof(Seal);
constexpr unsigned char cursor_version = 1;
constexpr int base64_variant = sodium_base64_VARIANT_URLSAFE_NO_PADDING;

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

}  // namespace

Seal seal(const Secret& secret, std::string_view bytes) {
  Seal result{};
  crypto_generichash(result.data(), result.size(),
                     reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
                     secret.data(), secret.size());
  return result;
}

std::string seal_cursor(const Secret& secret, std::string_view list,
                        const store::Position& position) {
  std::array<unsigned char, cursor_bytes> bytes{cursor_version};
  write_number(bytes.data() + 1, position.created_at);
  write_number(bytes.data() + 9, position.key);
  std::string sealed(reinterpret_cast<const char*>(bytes.data()), position_bytes);
  sealed += list;
  std::ranges::copy(seal(secret, sealed), bytes.begin() + position_bytes);
  std::string text(sodium_base64_ENCODED_LEN(cursor_bytes, base64_variant), '\0');
  sodium_bin2base64(text.data(), text.size(), bytes.data(), bytes.size(), base64_variant);
  text.pop_back();  // the terminating zero
  return text;
}

std::optional<store::Position> open_cursor(const Secret& secret, std::string_view list,
                                           std::string_view cursor) {
  if (cursor.empty()) return std::nullopt;
  std::array<unsigned char, cursor_bytes> bytes{};
  std::size_t size = 0;
  const char* end = nullptr;
  const bool is_decoded =
      sodium_base642bin(bytes.data(), bytes.size(), cursor.data(), cursor.size(), nullptr, &size,
                        &end, base64_variant) == 0 &&
      end == cursor.data() + cursor.size() && size == bytes.size();
  const store::Position position{read_number(bytes.data() + 1), read_number(bytes.data() + 9)};
  // The decoder accepts some bytes that are not base64, so the sealed text is compared as well.
  const std::string sealed = seal_cursor(secret, list, position);
  if (!is_decoded || cursor.size() != sealed.size() ||
      sodium_memcmp(sealed.data(), cursor.data(), sealed.size()) != 0) {
    throw Error::field(Code::invalid_cursor, "page_cursor",
                       "is not a cursor of this list with these filters and this order; "
                       "send the request without a cursor");
  }
  return position;
}

}  // namespace comptroller::service
