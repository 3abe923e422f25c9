#include "journal/base64.hpp"

#include <sodium.h>

namespace comptroller::journal {

namespace {

constexpr int variant = sodium_base64_VARIANT_ORIGINAL;

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text(sodium_base64_encoded_len(bytes.size(), variant), '\0');
  sodium_bin2base64(text.data(), text.size(), reinterpret_cast<const unsigned char*>(bytes.data()),
                    bytes.size(), variant);
  text.pop_back();  // the terminating zero
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  std::string bytes(text.size() / 4 * 3, '\0');
  std::size_t size = 0;
  const bool is_decoded =
      sodium_base642bin(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(), text.data(),
                        text.size(), nullptr, &size, nullptr, variant) == 0;
  bytes.resize(size);
  // The decoder accepts several texts for the same bytes.
  if (!is_decoded || to_base64(bytes) != text) return std::nullopt;
  return bytes;
}

}  // namespace comptroller::journal
