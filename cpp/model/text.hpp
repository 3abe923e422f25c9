// Types of text. All are valid UTF-8 without control characters and stored byte for byte: nothing
// is normalised or trimmed. Lengths are in code points.
//
// `assign` of a scalar type sets its value in the memory that it has; it returns false, and keeps
// the value, for invalid text. `expectation` completes the message "must be ...".
#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "model/hexadecimal.hpp"
#include "model/storage_class.hpp"

namespace comptroller {

// The number of code points of `bytes`; nullopt if it is not valid UTF-8 or contains one of U+0000
// to U+001F. DEL is allowed.
std::optional<std::size_t> count_characters(std::string_view bytes);

// Whether `bytes` is acceptable text of `minimum` to `maximum` code points.
bool is_text(std::string_view bytes, std::size_t minimum, std::size_t maximum);
std::string text_expectation(std::size_t minimum, std::size_t maximum);

template <std::size_t Min, std::size_t Max>
struct Text {
  static constexpr std::string_view kind = "string";
  static constexpr StorageClass storage = StorageClass::text;
  static constexpr std::size_t minimum_length = Min;
  static constexpr std::size_t maximum_length = Max;

  std::string value;

  bool assign(std::string_view text) {
    if (!is_text(text, Min, Max)) return false;
    value = text;
    return true;
  }
  static std::string expectation() { return text_expectation(Min, Max); }
  friend auto operator<=>(const Text&, const Text&) = default;
};

using Label = Text<1, 128>;
using Name = Text<1, 256>;
using Note = Text<0, 1024>;

// A value of an open set: [A-Z][A-Z0-9_]{0,63}. Values unknown to this version are valid.
struct Word {
  static constexpr std::string_view kind = "word";
  static constexpr StorageClass storage = StorageClass::symbol;
  static constexpr std::size_t maximum_length = 64;

  std::string value;

  bool assign(std::string_view text);
  static std::string expectation();
  friend auto operator<=>(const Word&, const Word&) = default;
};

// A label that many records share (asset, chain, jurisdiction); the store holds each text once.
struct Term : Label {
  static constexpr StorageClass storage = StorageClass::symbol;
};

// Any label. The usual form, "0x" and 64 lower-case hexadecimal digits, packs into 32 bytes.
struct TransactionHash : Label {
  static constexpr StorageClass storage = StorageClass::hash;
  static constexpr std::size_t packed_length = 32;

  // Writes `packed_length` bytes and returns true for a text in the usual form. For any other text
  // returns false, and `out` is unspecified.
  static bool pack(std::string_view text, char* out) {
    return read_prefixed_hexadecimal(text, packed_length, out);
  }
};

}  // namespace comptroller
