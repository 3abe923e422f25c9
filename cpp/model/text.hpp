// Strings, by what they may hold. All are valid UTF-8 without control characters and kept byte for
// byte: nothing is normalised or trimmed. Lengths are counted in code points.
//
// Every scalar type of the model has `parse`, which gives nothing for what it does not accept, and
// `expectation`, the phrase that completes "must be ...".
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace comptroller {

// The number of code points of `bytes`; nothing when it is not valid UTF-8 or has one of U+0000 to
// U+001F. DEL is allowed.
std::optional<std::size_t> count_characters(std::string_view bytes);

// Whether `bytes` is acceptable text of `minimum` to `maximum` code points.
bool is_text(std::string_view bytes, std::size_t minimum, std::size_t maximum);
std::string text_expectation(std::size_t minimum, std::size_t maximum);

template <std::size_t Min, std::size_t Max>
struct Text {
  static constexpr std::size_t minimum_length = Min;
  static constexpr std::size_t maximum_length = Max;

  std::string value;

  static std::optional<Text> parse(std::string_view text) {
    if (!is_text(text, Min, Max)) return std::nullopt;
    return Text{std::string(text)};
  }
  static std::string expectation() { return text_expectation(Min, Max); }
  friend auto operator<=>(const Text&, const Text&) = default;
};

using Label = Text<1, 128>;
using Name = Text<1, 256>;
using Note = Text<0, 1024>;

// A word of an open set: [A-Z][A-Z0-9_]{0,63}. Words this version does not know are kept as well.
struct Word {
  static constexpr std::size_t maximum_length = 64;

  std::string value;

  static std::optional<Word> parse(std::string_view text);
  static std::string expectation();
  friend auto operator<=>(const Word&, const Word&) = default;
};

// A label that repeats from record to record (asset, chain, jurisdiction); a store keeps it once.
struct Term {
  std::string value;

  static std::optional<Term> parse(std::string_view text);
  static std::string expectation() { return Label::expectation(); }
  friend auto operator<=>(const Term&, const Term&) = default;
};

// Any label; the usual form, "0x" and 64 lower-case hexadecimal digits, packs into 32 bytes.
struct TransactionHash {
  static constexpr std::size_t packed_length = 32;

  std::string value;

  static std::optional<TransactionHash> parse(std::string_view text);
  static std::string expectation() { return Label::expectation(); }

  // True, with `packed` filled, for exactly the usual form; else false, and `packed` is
  // unspecified.
  bool pack(std::array<char, packed_length>& packed) const;
  friend auto operator<=>(const TransactionHash&, const TransactionHash&) = default;
};

}  // namespace comptroller
