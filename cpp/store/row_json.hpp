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

void put_identifier(Tail& out, const Value& value);
void put_hash(Tail& out, const Value& value);
void put_addresses(Tail& out, const Value& value);
// Writes JSON as the store has it; throws unavailable for what does not begin and end so.
void put_document(Tail& out, const Value& value, char first, char last);

// Writes what a literal or a word of the code says, in quotes: nothing in it needs an escape.
inline void put_quoted(Tail& out, std::string_view plain) {
  char* at = out.room(plain.size() + 2);
  *at = '"';
  std::memcpy(at + 1, plain.data(), plain.size());
  at[plain.size() + 1] = '"';
  out.at(at + plain.size() + 2);
}

template <class T>
void put_column(Tail& out, const Value& value, db::Symbols& symbols) {
  constexpr StorageClass kept = storage_class<T>();
  if constexpr (kept == StorageClass::symbol) {
    out.put_string(symbols.text(value.integer));
  } else if constexpr (kept == StorageClass::identifier) {
    put_identifier(out, value);
  } else if constexpr (kept == StorageClass::hash) {
    put_hash(out, value);
  } else if constexpr (kept == StorageClass::timestamp) {
    char* at = out.room(timestamp_length + 2);
    out.at(json::write_timestamp(at, decode_time(value.integer)));
  } else if constexpr (kept == StorageClass::code) {
    put_quoted(out, word(decode<T>(value.integer)));
  } else if constexpr (kept == StorageClass::boolean) {
    out.put(value.integer != 0 ? "true" : "false");
  } else if constexpr (kept == StorageClass::addresses) {
    put_addresses(out, value);
  } else if constexpr (kept == StorageClass::document) {
    put_document(out, value, '{', '}');
  } else if constexpr (kept == StorageClass::amount || kept == StorageClass::computed) {
    put_quoted(out, value.bytes);
  } else {
    out.put_string(value.bytes);
  }
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
      put_column<T>(out, value, symbols);
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
