// Rows as CSV (RFC 4180): a header of field names, lines that end in CR LF, straight from the
// statement as in store/row_json.hpp.
//
// Moments and amounts are plain text. Lists and nested objects are their JSON text. An unset field
// is an empty cell, an empty string is "". A text that a spreadsheet would take for a formula gets
// an apostrophe before it; amounts and moments are never touched.
#pragma once

#include "store/row_json.hpp"

namespace comptroller::load {

// A cell of text: defused, and quoted if need be.
void append_csv_text(std::string& out, std::string_view text);
// A cell that is quoted whatever it holds.
void append_csv_quoted(std::string& out, std::string_view text);
// Ends the line in place of the comma behind its last cell.
void end_csv_line(std::string& out);

template <class T>
void append_csv_cell(std::string& out, const store::Value& value, db::Symbols& symbols) {
  using store::StorageClass;
  constexpr StorageClass kept = store::storage_class<T>();
  if constexpr (kept == StorageClass::symbol) {
    append_csv_text(out, symbols.text(value.integer));
  } else if constexpr (kept == StorageClass::identifier) {
    append_csv_text(out, store::identifier_text(value));
  } else if constexpr (kept == StorageClass::hash) {
    append_csv_text(out, store::hash_text(value));
  } else if constexpr (kept == StorageClass::timestamp) {
    out += to_string(store::decode_time(value.integer));
  } else if constexpr (kept == StorageClass::code) {
    out += word(store::decode<T>(value.integer));
  } else if constexpr (kept == StorageClass::boolean) {
    out += value.integer != 0 ? "true" : "false";
  } else if constexpr (kept == StorageClass::addresses) {
    std::string list;
    {
      store::Tail tail(list);
      store::put_addresses(tail, value);
    }
    append_csv_quoted(out, list);
  } else if constexpr (kept == StorageClass::document) {
    append_csv_quoted(out, value.bytes);
  } else if constexpr (kept == StorageClass::amount || kept == StorageClass::computed) {
    out += value.bytes;
  } else {
    append_csv_text(out, value.bytes);
  }
}

// Appends the names of R's fields that the audience is shown.
template <Record R>
void append_csv_header(std::string& out, json::Audience audience) {
  for_each_field<R>([&]<class F>() {
    if (json::is_shown<typename F::Type>(audience)) out.append(F::name).append(1, ',');
  });
  end_csv_line(out);
}

// Appends a row selected with `select_list<R>`.
template <Record R>
void append_csv_row(std::string& out, db::Query& row, db::Symbols& symbols,
                    json::Audience audience) {
  for_each_indexed_field<R>([&]<class F, std::size_t I>() {
    using T = bare<typename F::Type>;
    if (!json::is_shown<T>(audience)) return;
    const store::Value value = row.column(static_cast<int>(I));
    if (!value.is_null()) append_csv_cell<T>(out, value, symbols);
    out += ',';
  });
  end_csv_line(out);
}

}  // namespace comptroller::load
