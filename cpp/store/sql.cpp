#include "store/sql.hpp"

#include <array>
#include <bit>

namespace comptroller::store {

namespace {

constexpr std::uint32_t first_surrogate = 0xD800;
constexpr std::uint32_t behind_surrogates = 0xE000;
constexpr std::uint32_t last_code_point = 0x10FFFF;

bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

// The code point of a character in valid UTF-8.
std::uint32_t decode(std::string_view character) {
  const auto first = static_cast<unsigned char>(character.front());
  if (character.size() == 1) return first;
  std::uint32_t code = first & (0x7FU >> character.size());
  for (const char byte : character.substr(1)) {
    code = code << 6U | (static_cast<unsigned char>(byte) & 0x3FU);
  }
  return code;
}

std::string encode(std::uint32_t code) {
  if (code < 0x80) return {static_cast<char>(code)};
  constexpr std::array<std::uint32_t, 4> leads{0, 0xC0, 0xE0, 0xF0};
  unsigned more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;  // bytes behind the first
  std::string text(1, static_cast<char>(leads.at(more) | code >> 6U * more));
  while (more-- > 0) text += static_cast<char>(0x80U | (code >> 6U * more & 0x3FU));
  return text;
}

}  // namespace

std::string unindexed(std::string_view column) {
  return "COALESCE(" + std::string(column) + ", NULL)";
}

Sql any_of(std::string_view expression, const std::vector<Value>& values) {
  if (values.empty()) return {"false", {}};
  Sql sql{std::string(expression), values};
  if (values.size() == 1) return sql.add(" = ?");
  sql.add(" IN (?");
  for (std::size_t count = std::bit_ceil(values.size()); count > 1; --count) sql.add(", ?");
  sql.values.resize(std::bit_ceil(values.size()), values.back());
  return sql.add(")");
}

std::string json_array(const std::vector<std::int64_t>& keys) {
  std::string text(1, '[');
  for (const std::int64_t key : keys) {
    if (text.size() > 1) text.push_back(',');
    text.append(std::to_string(key));
  }
  text.push_back(']');
  return text;
}

std::optional<std::string> end_of_prefix(std::string_view prefix) {
  while (!prefix.empty()) {
    std::size_t start = prefix.size() - 1;
    while (start > 0 && is_continuation(prefix[start])) --start;
    std::uint32_t code = decode(prefix.substr(start));
    prefix = prefix.substr(0, start);
    if (code == last_code_point) continue;
    if (++code == first_surrogate) code = behind_surrogates;
    return std::string(prefix) + encode(code);
  }
  return std::nullopt;
}

}  // namespace comptroller::store
