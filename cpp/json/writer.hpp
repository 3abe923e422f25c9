// Writes values as JSON text: compact UTF-8, valid for any text. The members of a record are in the
// order of its field table; unset members are omitted.
#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "model/scalar.hpp"

namespace comptroller::json {

using comptroller::Audience;

// Returns `,"name":` for a field.
template <class F>
inline constexpr auto opening_of = [] {
  std::array<char, F::name.size() + 4> text{};
  text[0] = ',';
  text[1] = '"';
  std::ranges::copy(F::name, text.begin() + 2);
  text[text.size() - 2] = '"';
  text[text.size() - 1] = ':';
  return text;
}();

// Writes JSON to a string. The string must not be used until the writer is destroyed.
class JsonWriter {
 public:
  // Appends to the string.
  explicit JsonWriter(std::string& out, Audience audience = Audience::provider)
      : JsonWriter(out, audience, out.data() + out.size(), out.data() + out.size()) {}
  // Replaces the string, which is faster than to clear it first.
  static JsonWriter replacing(std::string& out, Audience audience = Audience::provider) {
    return {out, audience, out.data(), out.data() + out.size()};
  }
  ~JsonWriter() {  // NOLINT(bugprone-exception-escape): it only shrinks the string
    out_.resize(size());
  }
  JsonWriter(const JsonWriter&) = delete;
  JsonWriter& operator=(const JsonWriter&) = delete;

  // The number of bytes of the string so far.
  std::size_t size() const { return static_cast<std::size_t>(at_ - out_.data()); }

  // Appends a piece of JSON unchanged.
  void put(std::string_view piece) {
    std::memcpy(room(piece.size()), piece.data(), piece.size());
    at_ += piece.size();
  }

  // Appends the name of a member, with what separates it from the one before. The first member's
  // comma is written over the brace, and the brace is then restored. This way every copy has a
  // constant size, which is faster than a size that depends on the position.
  template <class F>
  void put_name() {
    constexpr auto& opening = opening_of<F>;
    char* at = room(opening.size());
    const bool is_first = at[-1] == '{';
    at -= is_first ? 1 : 0;
    std::memcpy(at, opening.data(), opening.size());
    if (is_first) *at = '{';
    at_ = at + opening.size();
  }

  // Writes a value for each kind of view (model/scalar.hpp).
  void write(std::string_view text);
  void write(Decimal number) { write_plain(number.text); }
  void write(const Packed auto& packed) {
    write_quoted(packed.size(), [&](char* at) { packed.write(at); });
  }
  void write(Timestamp time) {
    write_quoted(timestamp_length, [&](char* at) { format_timestamp(time, at); });
  }
  void write(ClosedSet auto value) { write_plain(enum_text(value)); }
  template <std::integral N>
    requires(!std::same_as<N, bool>)
  void write(N number) {
    constexpr std::size_t max_digits = 20;
    char* const at = room(max_digits);
    at_ = std::to_chars(at, at + max_digits, number).ptr;
  }
  void write(std::same_as<bool> auto flag) { put(flag ? "true" : "false"); }
  template <class T>
  void write(const JsonText<T>& document) {
    put(document.checked());
  }
  void write(const List auto& values) {
    write_children("[]", values, [&](const auto& value) { write(view_of(value)); });
  }
  void write(const Pairs auto& pairs) {
    write_children("{}", pairs, [&](const auto& pair) {
      write(std::string_view(pair.first));
      put(":");
      write(view_of(pair.second));
    });
  }
  template <Record R>
  void write(const R& record) {
    write_record<R>(RecordFields<R>{record});
  }

  // Writes the object of an R whose field values come from a record or a row of the store.
  template <Record R, class Source>
  void write_record(const Source& source) {
    put("{");
    for_each_indexed_field<R>([&]<class F, std::size_t I>() {
      using T = bare<typename F::Type>;
      if (!is_shown<T>(audience_)) return;
      const auto field = source.template field<F, I>();
      if (field.is_unset() && !shows_null<F>) return;
      put_name<F>();
      if (field.is_unset()) return put("null");
      field.visit([&](const auto& view) { write(view); });
    });
    put("}");
  }

 private:
  JsonWriter(std::string& out, Audience audience, char* at, char* end)
      : out_(out), audience_(audience), at_(at), end_(end) {}

  // Writes values between brackets, separated by commas.
  void write_children(std::string_view brackets, const auto& children, auto write_child) {
    put(brackets.substr(0, 1));
    for (bool is_first = true; const auto& child : children) {
      if (!std::exchange(is_first, false)) put(",");
      write_child(child);
    }
    put(brackets.substr(1));
  }
  // Writes a text that needs no escapes.
  void write_plain(std::string_view text) {
    write_quoted(text.size(), [&](char* at) { std::memcpy(at, text.data(), text.size()); });
  }
  // Writes a string of `size` bytes that `write_at` writes.
  void write_quoted(std::size_t size, auto write_at) {
    char* const at = room(size + 2);
    *at = '"';
    write_at(at + 1);
    at[size + 1] = '"';
    at_ = at + size + 2;
  }
  // Returns space for up to `most` bytes.
  char* room(std::size_t most) {
    if (std::cmp_less(end_ - at_, most)) grow(most);
    return at_;
  }
  void grow(std::size_t most);

  std::string& out_;
  Audience audience_;
  char* at_;
  char* end_;
};

template <Record R>
void append_record(std::string& out, const R& record, Audience audience) {
  JsonWriter(out, audience).write(record);
}

template <Record R>
std::string to_text(const R& record, Audience audience = Audience::provider) {
  std::string text;
  append_record(text, record, audience);
  return text;
}

}  // namespace comptroller::json
