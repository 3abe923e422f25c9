// Converts between records and columns: the select list of a record, a row as a source of views, a
// row as a record, a record as the parameters of a statement.
#pragma once

#include <string>
#include <vector>

#include "store/storage.hpp"

namespace comptroller::store {

// The columns of a record as a select list, in the order of its fields. A computed field is NULL
// unless `computed` gives an expression for it.
template <Record R>
std::string select_list(std::string_view computed = "NULL") {
  std::string list;
  for_each_field<R>([&]<class F>() {
    if (!list.empty()) list += ", ";
    if constexpr (is_derived<bare<typename F::Type>>) list.append(computed).append(" AS ");
    list += F::name;
  });
  return list;
}

// The names of a record's columns.
template <Record R>
std::vector<std::string_view> stored_names() {
  std::vector<std::string_view> names;
  for_each_field<R>([&]<class F>() {
    if constexpr (!is_derived<bare<typename F::Type>>) names.push_back(F::name);
  });
  return names;
}

// A value of a row of the last step of a statement: the value of a field of type T, which may be
// unset if T is optional or computed. The error of a damaged value names its place.
template <class T>
struct ColumnValue {
  db::Query& query;
  db::Symbols& symbols;
  int index = 0;
  std::size_t row = 0;
  const Value& value = query.column(index, row);

  bool is_unset() const {
    if (!value.is_null()) return false;
    if constexpr (!is_optional<T> && !is_derived<bare<T>>) {
      query.locate(index, row, [&] { throw db::wrong_type(value, "a value"); });
    }
    return true;
  }
  void visit(auto&& act) const {
    query.locate(index, row, [&] { Column<bare<T>>::read(value, symbols, act); });
  }
};

// The current row of a statement with the columns of `select_list`, as a source of field values.
struct Row {
  db::Query& query;
  db::Symbols& symbols;

  template <class F, std::size_t I>
  auto field() const {
    return ColumnValue<typename F::Type>{query, symbols, static_cast<int>(I)};
  }
};

// Sets a member of a record to the value of a view.
template <class T>
void assign(T& member, std::string_view text) {
  member.value = text;
}
template <class T>
void assign(T& member, const Packed auto& packed) {
  member.value = text_of(packed);
}
inline void assign(Amount& member, Decimal number) {
  member.text = number.text;
}
inline void assign(Timestamp& member, Timestamp time) {
  member.microseconds = time.microseconds;
}
template <class T>
  requires ClosedSet<T> || std::same_as<T, bool>
void assign(T& member, T value) {
  member = value;
}
inline void assign(Addresses& member, const PackedAddresses& packed) {
  for (const PackedHexadecimal& address : packed) member.push_back({text_of(address)});
}
template <class T>
void assign(T& member, JsonText<T> document) {
  member = json::read_stored<T>(document.text);
}
void set_member(auto& member, const auto& view) {
  assign(member, view);
}
template <class T>
void set_member(std::optional<T>& member, const auto& view) {
  assign(member.emplace(), view);
}

// Returns the record of a row selected with `select_list`.
template <Record R>
R read_row(db::Query& query, db::Symbols& symbols) {
  R record{};
  const Row row{query, symbols};
  for_each_indexed_field<R>([&]<class F, std::size_t I>() {
    const auto field = row.field<F, I>();
    if (!field.is_unset())
      field.visit([&](const auto& view) { set_member(record.*F::member, view); });
  });
  return record;
}

// Appends a row selected with `select_list` as JSON; the JSON is the same as that of its record.
template <Record R>
void append_row(std::string& out, db::Query& row, db::Symbols& symbols, Audience audience) {
  json::JsonWriter(out, audience).write_record<R>(Row{row, symbols});
}

// Binds the columns of a record to parameters 1, 2, ... in the order of its fields; returns the
// last parameter.
template <Record R>
int bind_record(db::Query& query, const R& record, BoundValues& values) {
  int index = 0;
  const RecordFields<R> fields{record};
  for_each_indexed_field<R>([&]<class F, std::size_t I>() {
    if constexpr (!is_derived<bare<typename F::Type>>) {
      const auto field = fields.template field<F, I>();
      query.bind(++index, field.is_unset() ? Value::null() : values.of(*field.value));
    }
  });
  return index;
}

}  // namespace comptroller::store
