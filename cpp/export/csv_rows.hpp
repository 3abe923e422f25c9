// Rows of the store as CSV (RFC 4180): a header of field names, lines that end in CR LF.
//
// Times and amounts are plain text. Lists and nested objects are JSON text. An unset field is an
// empty cell, an empty string is "". A text that a spreadsheet would evaluate as a formula gets an
// apostrophe in front; amounts and times are not changed.
#pragma once

#include "files/csv.hpp"
#include "store/columns.hpp"

namespace comptroller::exporting {

// Replaces the comma after the last cell with the end of the line.
inline void end_csv_line(std::string& out) {
  out.back() = '\r';
  out += '\n';
}

// Appends a cell for each kind of view that a row has (model/scalar.hpp). Texts that begin like a
// formula get an apostrophe in front.
inline void append_csv_cell(std::string& out, std::string_view text) {
  if (text.empty()) return files::append_quoted(out, text);
  files::append_cell(out, text);
}
inline void append_csv_cell(std::string& out, Decimal number) {
  out += number.text;
}
void append_csv_cell(std::string& out, const Packed auto& packed) {
  out += text_of(packed);
}
inline void append_csv_cell(std::string& out, Timestamp time) {
  out += to_string(time);
}
void append_csv_cell(std::string& out, ClosedSet auto value) {
  out += enum_text(value);
}
void append_csv_cell(std::string& out, std::same_as<bool> auto flag) {
  out += flag ? "true" : "false";
}
inline void append_csv_cell(std::string& out, const PackedAddresses& addresses) {
  std::string list;
  json::JsonWriter(list).write(addresses);
  files::append_quoted(out, list);
}
template <class T>
void append_csv_cell(std::string& out, const JsonText<T>& document) {
  files::append_quoted(out, document.checked());
}

// Appends the names of the fields that the audience may see.
template <Record R>
void append_csv_header(std::string& out, Audience audience) {
  for_each_field<R>([&]<class F>() {
    if (is_shown<bare<typename F::Type>>(audience)) out.append(F::name).append(1, ',');
  });
  end_csv_line(out);
}

// Appends a row selected with `select_list<R>`.
template <Record R>
void append_csv_row(std::string& out, db::Query& query, db::Symbols& symbols, Audience audience) {
  const store::Row row{query, symbols};
  for_each_indexed_field<R>([&]<class F, std::size_t I>() {
    if (!is_shown<bare<typename F::Type>>(audience)) return;
    const auto field = row.field<F, I>();
    if (!field.is_unset()) field.visit([&](const auto& view) { append_csv_cell(out, view); });
    out += ',';
  });
  end_csv_line(out);
}

}  // namespace comptroller::exporting
