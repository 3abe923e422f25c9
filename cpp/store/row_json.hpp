// A row as JSON text, straight from the statement: each column is fetched once and no record stands
// between. The text is the one json::append_record gives for the same record.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "store/columns.hpp"

namespace comptroller::store {

// The end of a text that grows by many small pieces. Room for a piece is made before it is written,
// and what is left over is given back at the end of the scope.
class Tail {
 public:
  explicit Tail(std::string& out) : out_(out), at_(out.data() + out.size()), end_(at_) {}
  ~Tail() {  // NOLINT(bugprone-exception-escape): it only shrinks
    out_.resize(static_cast<std::size_t>(at_ - out_.data()));
  }
  Tail(const Tail&) = delete;
  Tail& operator=(const Tail&) = delete;

  // Where up to `most` bytes may be written; `at` says how far they went.
  char* room(std::size_t most) {
    if (std::cmp_less(end_ - at_, most)) grow(most);
    return at_;
  }
  void at(char* end) { at_ = end; }

  void put(std::string_view piece) {
    at_ = static_cast<char*>(std::memcpy(room(piece.size()), piece.data(), piece.size())) +
          piece.size();
  }
  // Text as a JSON string.
  void put_string(std::string_view text) {
    at_ = json::write_string(room(json::most_written(text)), text);
  }

 private:
  void grow(std::size_t most);

  std::string& out_;
  char* at_;
  char* end_;
};

// What visit_column gives, as JSON.
inline void put(Tail& out, std::string_view text) {
  out.put_string(text);
}
void put(Tail& out, const Packed auto& packed) {
  char* at = out.room(packed.size() + 2);
  *at = '"';
  packed.write(at + 1);
  at[packed.size() + 1] = '"';
  out.at(at + packed.size() + 2);
}
void put(Tail& out, const PackedAddresses& addresses);
inline void put(Tail& out, const JsonText& json) {
  out.put(json.whole());
}
inline void put(Tail& out, Timestamp moment) {
  out.at(json::write_timestamp(out.room(timestamp_length + 2), moment));
}
// Nothing in these needs an escape.
inline void put(Tail& out, Digits digits) {
  char* at = out.room(digits.text.size() + 2);
  *at = '"';
  std::memcpy(at + 1, digits.text.data(), digits.text.size());
  at[digits.text.size() + 1] = '"';
  out.at(at + digits.text.size() + 2);
}
void put(Tail& out, ClosedSet auto value) {
  put(out, Digits{word(value)});
}
void put(Tail& out, std::same_as<bool> auto flag) {
  out.put(flag ? "true" : "false");
}

// `{"name":` of a record's first field, `,"name":` of the others, as one piece of text each.
template <class F, std::size_t I>
inline constexpr auto opening_of = [] {
  std::array<char, F::name.size() + 4> text{};
  text[0] = I == 0 ? '{' : ',';
  text[1] = '"';
  std::ranges::copy(F::name, text.begin() + 2);
  text[text.size() - 2] = '"';
  text[text.size() - 1] = ':';
  return text;
}();

// Writes the object of a row selected with `select_list<R>`, whose first column is never NULL.
template <Record R>
void put_row(Tail& out, db::Query& row, db::Symbols& symbols, json::Audience audience) {
  for_each_indexed_field<R>([&]<class F, std::size_t I>() {
    using T = bare<typename F::Type>;
    if (!json::is_shown<T>(audience)) return;
    const Value value = row.column(static_cast<int>(I));
    const bool is_null = value.is_null();
    if (is_null && !std::same_as<T, NullableTimestamp>) return;
    out.put({opening_of<F, I>.data(), opening_of<F, I>.size()});
    if (is_null) {
      out.put("null");
    } else {
      visit_column<T>(value, symbols, [&](const auto& held) { put(out, held); });
    }
  });
  out.put("}");
}

template <Record R>
void append_row(std::string& out, db::Query& row, db::Symbols& symbols, json::Audience audience) {
  Tail tail(out);
  put_row<R>(tail, row, symbols, audience);
}

}  // namespace comptroller::store
