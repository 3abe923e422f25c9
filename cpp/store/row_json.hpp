// A row as JSON text, straight from the statement: each column is fetched once and no record stands
// between. The text is the one json::append_record gives for the same record.
#pragma once

#include <algorithm>
#include <array>

#include "store/columns.hpp"

namespace comptroller::store {

void append_identifier(std::string& out, const Value& value);
void append_hash(std::string& out, const Value& value);
void append_addresses(std::string& out, const Value& value);

template <class T>
void append_column(std::string& out, const Value& value, db::Symbols& symbols) {
  constexpr StorageClass kept = storage_class<T>();
  if constexpr (kept == StorageClass::symbol) {
    json::append_string(out, symbols.text(value.integer));
  } else if constexpr (kept == StorageClass::identifier) {
    append_identifier(out, value);
  } else if constexpr (kept == StorageClass::hash) {
    append_hash(out, value);
  } else if constexpr (kept == StorageClass::timestamp) {
    json::append_timestamp(out, decode_time(value.integer));
  } else if constexpr (kept == StorageClass::code) {
    out.append(1, '"').append(word(decode<T>(value.integer))).append(1, '"');
  } else if constexpr (kept == StorageClass::boolean) {
    out += value.integer != 0 ? "true" : "false";
  } else if constexpr (kept == StorageClass::addresses) {
    append_addresses(out, value);
  } else if constexpr (kept == StorageClass::document) {
    out += value.bytes;
  } else if constexpr (kept == StorageClass::amount || kept == StorageClass::computed) {
    out.append(1, '"').append(value.bytes).append(1, '"');
  } else {
    json::append_string(out, value.bytes);
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

// Appends the object of a row selected with `select_list<R>`, whose first column is never NULL.
template <Record R>
void append_row(std::string& out, db::Query& row, db::Symbols& symbols, json::Audience audience) {
  for_each_indexed_field<R>([&]<class F, std::size_t I>() {
    using T = bare<typename F::Type>;
    if (!json::is_shown<T>(audience)) return;
    const Value value = row.column(static_cast<int>(I));
    const bool is_null = value.is_null();
    if (is_null && !std::same_as<T, NullableTimestamp>) return;
    out.append(opening_of<F, I>.data(), opening_of<F, I>.size());
    if (is_null) {
      out += "null";
    } else {
      append_column<T>(out, value, symbols);
    }
  });
  out += '}';
}

}  // namespace comptroller::store
