// Records <-> columns: the select list of a record, a row as a record, a record as parameters.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "db/database.hpp"
#include "json/reader.hpp"
#include "json/writer.hpp"
#include "store/storage.hpp"

namespace comptroller::store {

using db::Value;

// The columns of a record as a select list, in the order of its fields. A computed field is NULL
// unless `computed` gives an expression for it.
template <Record R>
std::string select_list(std::string_view computed = "NULL") {
  std::string list;
  for_each_field<R>([&]<class F>() {
    if (!list.empty()) list += ", ";
    if constexpr (storage_of<F> == StorageClass::computed) {
      list.append(computed).append(" AS ");
    }
    list += F::name;
  });
  return list;
}

// The bytes of an id or a hash that is kept packed; throws unavailable unless they are `length`.
std::string_view packed(const Value& value, std::size_t length);
// Those of addresses that are; throws unavailable unless they are whole ones.
std::string_view packed_addresses(const Value& value);

std::string identifier_text(const Value& value);
std::string hash_text(const Value& value);
Addresses addresses_of(const Value& value);

template <class T>
T value_from(const Value& value, db::Symbols& symbols) {
  constexpr StorageClass kept = storage_class<T>();
  if constexpr (kept == StorageClass::symbol) {
    T result{};
    result.value = symbols.text(value.integer);
    return result;
  } else if constexpr (kept == StorageClass::identifier) {
    return T{identifier_text(value)};
  } else if constexpr (kept == StorageClass::hash) {
    return T{hash_text(value)};
  } else if constexpr (kept == StorageClass::timestamp) {
    T result{};
    if constexpr (std::same_as<T, NullableTimestamp>) {
      result.value = decode_time(value.integer);
    } else {
      result.microseconds = decode_time(value.integer).microseconds;
    }
    return result;
  } else if constexpr (kept == StorageClass::code) {
    return decode<T>(value.integer);
  } else if constexpr (kept == StorageClass::boolean) {
    return value.integer != 0;
  } else if constexpr (kept == StorageClass::addresses) {
    return addresses_of(value);
  } else if constexpr (std::same_as<T, Metadata>) {
    return json::read_stored_metadata(value.bytes);
  } else if constexpr (kept == StorageClass::document) {
    return json::read_stored<T>(value.bytes);
  } else if constexpr (kept == StorageClass::computed) {
    return T{{std::string(value.bytes)}};
  } else {
    return T{std::string(value.bytes)};
  }
}

// The record of a row selected with `select_list`.
template <Record R>
R read_row(db::Query& row, db::Symbols& symbols) {
  R record{};
  for_each_indexed_field<R>([&]<class F, std::size_t I>() {
    const Value value = row.column(static_cast<int>(I));
    if (!value.is_null()) {
      record.*F::member = value_from<bare<typename F::Type>>(value, symbols);
    }
  });
  return record;
}

// Values as a statement takes them. Texts that had to be made are owned here until the end.
class Parameters {
 public:
  explicit Parameters(db::Symbols& symbols) : symbols_(symbols) {}

  Value identifier(std::string_view id);
  Value hash(const TransactionHash& hash);
  Value addresses(const Addresses& addresses);
  // A copy of a text that the caller does not keep.
  Value own(std::string_view text) { return Value::of(keep(text)); }

  template <class T>
  Value of(const T& value) {
    constexpr StorageClass kept = storage_class<T>();
    if constexpr (kept == StorageClass::symbol) {
      return Value::of(symbols_.intern(value.value));
    } else if constexpr (kept == StorageClass::identifier) {
      return identifier(value.value);
    } else if constexpr (kept == StorageClass::hash) {
      return hash(value);
    } else if constexpr (std::same_as<T, NullableTimestamp>) {
      return value.value ? Value::of(value.value->microseconds) : Value::null();
    } else if constexpr (kept == StorageClass::timestamp) {
      return Value::of(value.microseconds);
    } else if constexpr (kept == StorageClass::code) {
      return Value::of(static_cast<std::int64_t>(value));
    } else if constexpr (kept == StorageClass::boolean) {
      return Value::of(static_cast<std::int64_t>(value ? 1 : 0));
    } else if constexpr (kept == StorageClass::addresses) {
      return addresses(value);
    } else if constexpr (kept == StorageClass::document) {
      std::string text;
      json::append_value(text, value, json::Audience::provider);
      return own(text);
    } else if constexpr (kept == StorageClass::amount) {
      return Value::of(std::string_view(value.text));
    } else {
      return Value::of(std::string_view(value.value));
    }
  }

 private:
  // A copy that stays where it is, even when this object moves.
  std::string_view keep(std::string_view bytes);

  static constexpr std::size_t space_bytes = 512;
  db::Symbols& symbols_;
  std::unique_ptr<char[]> space_;  // enough for the ids and hashes of a record
  std::size_t used_ = 0;
  std::vector<std::unique_ptr<char[]>> more_space_;
};

// Binds the columns of a record to parameters 1, 2, ... in the order of its fields; gives the last.
template <Record R>
int bind_record(db::Query& query, const R& record, Parameters& parameters) {
  int index = 0;
  for_each_field<R>([&]<class F>() {
    if constexpr (storage_of<F> != StorageClass::computed) {
      const auto& value = record.*F::member;
      ++index;
      if constexpr (is_optional<typename F::Type>) {
        query.bind(index, value ? parameters.of(*value) : Value::null());
      } else {
        query.bind(index, parameters.of(value));
      }
    }
  });
  return index;
}

// The names of a record's columns.
template <Record R>
std::vector<std::string_view> stored_names() {
  std::vector<std::string_view> names;
  for_each_field<R>([&]<class F>() {
    if constexpr (storage_of<F> != StorageClass::computed) names.push_back(F::name);
  });
  return names;
}

}  // namespace comptroller::store
