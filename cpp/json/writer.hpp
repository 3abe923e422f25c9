// Records as JSON text: members in the order of the field table, unset ones left out. Pairs are an
// object, other ranges an array. The output is compact UTF-8 and always valid, whatever a text
// holds.
#pragma once

#include <concepts>
#include <ranges>
#include <string>
#include <string_view>

#include "model/records.hpp"

namespace comptroller::json {

// Who reads the answer: the operator also sees whose a record is.
enum class Audience : std::uint8_t { client, provider };

// Raw forms for those who make room themselves: each writes at `at` and gives the end.
constexpr std::size_t most_written(std::string_view text) {
  return 6 * text.size() + 2;
}
char* write_string(char* at, std::string_view text);  // at most `most_written`
inline char* write_timestamp(char* at, Timestamp timestamp) {
  *at = '"';
  format_timestamp(timestamp, at + 1);
  at[timestamp_length + 1] = '"';
  return at + timestamp_length + 2;
}

void append_string(std::string& out, std::string_view text);
void append_timestamp(std::string& out, Timestamp timestamp);

// Writes `"name":`, with a comma before every member but the first of an object.
inline void append_name(std::string& out, std::string_view name) {
  if (out.back() != '{') out += ',';
  out += '"';
  out += name;
  out += "\":";
}

template <class T>
concept Pairs = std::ranges::range<T> && requires(std::ranges::range_value_t<T> pair) {
  pair.first;
  pair.second;
};

template <Record R>
void append_record(std::string& out, const R& record, Audience audience);

template <class T>
void append_value(std::string& out, const T& value, Audience audience) {
  if constexpr (ClosedSet<T>) {
    append_string(out, word(value));
  } else if constexpr (std::same_as<T, bool>) {
    out += value ? "true" : "false";
  } else if constexpr (std::derived_from<T, Timestamp>) {
    append_timestamp(out, value);
  } else if constexpr (std::same_as<T, NullableTimestamp>) {
    if (value.value) {
      append_timestamp(out, *value.value);
    } else {
      out += "null";
    }
  } else if constexpr (std::convertible_to<T, std::string_view>) {
    append_string(out, value);
  } else if constexpr (std::integral<T>) {
    out += std::to_string(value);
  } else if constexpr (std::same_as<T, PageLimit>) {
    append_value(out, value.value, audience);
  } else if constexpr (std::same_as<T, Metadata>) {
    append_value(out, value.pairs, audience);
  } else if constexpr (Pairs<T>) {
    out += '{';
    for (const auto& [name, element] : value) {
      if (out.back() != '{') out += ',';
      append_string(out, name);
      out += ':';
      append_value(out, element, audience);
    }
    out += '}';
  } else if constexpr (std::ranges::range<T>) {
    out += '[';
    for (const auto& element : value) {
      if (out.back() != '[') out += ',';
      append_value(out, element, audience);
    }
    out += ']';
  } else if constexpr (Record<T>) {
    append_record(out, value, audience);
  } else if constexpr (requires { value.text; }) {
    append_string(out, value.text);
  } else {
    append_string(out, value.value);
  }
}

// Whether a field of this type is written for this audience.
template <class T>
constexpr bool is_shown(Audience audience) {
  return !std::same_as<bare<T>, OwnerId> || audience == Audience::provider;
}

template <Record R>
void append_record(std::string& out, const R& record, Audience audience) {
  out += '{';
  for_each_field<R>([&]<class F>() {
    using T = typename F::Type;
    if (!is_shown<T>(audience)) return;
    const T& value = record.*F::member;
    if constexpr (is_optional<T>) {
      if (!value) return;
      append_name(out, F::name);
      append_value(out, *value, audience);
    } else {
      append_name(out, F::name);
      append_value(out, value, audience);
    }
  });
  out += '}';
}

template <Record R>
std::string to_text(const R& record, Audience audience = Audience::provider) {
  std::string text;
  append_record(text, record, audience);
  return text;
}

}  // namespace comptroller::json
