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

// What store::visit_column gives, as a cell.
inline void append_csv_cell(std::string& out, std::string_view text) {
  append_csv_text(out, text);
}
inline void append_csv_cell(std::string& out, store::Digits digits) {
  out += digits.text;
}
void append_csv_cell(std::string& out, const store::Packed auto& packed) {
  out += store::text_of(packed);
}
inline void append_csv_cell(std::string& out, Timestamp moment) {
  out += to_string(moment);
}
void append_csv_cell(std::string& out, ClosedSet auto value) {
  out += word(value);
}
void append_csv_cell(std::string& out, std::same_as<bool> auto flag) {
  out += flag ? "true" : "false";
}
void append_csv_cell(std::string& out, const store::PackedAddresses& addresses);
inline void append_csv_cell(std::string& out, const store::JsonText& json) {
  append_csv_quoted(out, json.whole());
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
    if (!value.is_null()) {
      store::visit_column<T>(value, symbols, [&](const auto& held) { append_csv_cell(out, held); });
    }
    out += ',';
  });
  end_csv_line(out);
}

}  // namespace comptroller::load
