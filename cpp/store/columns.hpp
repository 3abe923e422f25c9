// Records <-> columns: the select list of a record, a row as a record, a record as parameters.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "db/database.hpp"
#include "json/reader.hpp"
#include "json/writer.hpp"
#include "model/hexadecimal.hpp"
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

// A UUID that is kept packed.
struct PackedUuid {
  std::string_view bytes;

  static constexpr std::size_t size() { return uuid_length; }
  void write(char* out) const { format_uuid(bytes.data(), out); }
};

// A hash or an address that is kept packed.
struct PackedHexadecimal {
  std::string_view bytes;

  std::size_t size() const { return 2 + 2 * bytes.size(); }
  void write(char* out) const { write_prefixed_hexadecimal(bytes, out); }
};

// What stands for a text that is to be written out.
template <class P>
concept Packed = requires(const P& packed, char* out) {
  packed.size();
  packed.write(out);
};
std::string text_of(const Packed auto& packed) {
  std::string text(packed.size(), '\0');
  packed.write(text.data());
  return text;
}

struct PackedAddresses {
  std::string_view bytes;

  std::size_t count() const { return bytes.size() / packed_address_length; }
  PackedHexadecimal operator[](std::size_t index) const {
    return {bytes.substr(index * packed_address_length, packed_address_length)};
  }
};

// The text of an amount.
struct Digits {
  std::string_view text;
};

// A document, or an array of addresses.
struct JsonText {
  std::string_view text;
  char first;
  char last;

  // Throws unavailable for what does not begin and end as it should.
  std::string_view whole() const;
};

// The bytes of an id or a hash that is kept packed; throws unavailable unless they are `length`.
std::string_view packed(const Value& value, std::size_t length);
// Those of addresses that are; throws unavailable unless they are whole ones.
PackedAddresses packed_addresses(const Value& value);

// Calls `visit` with what a column of type T that is not NULL holds: a text as std::string_view, or
// one of the above, a Timestamp, a word of a closed set, a bool. Throws unavailable for what no
// version wrote.
template <class T, class Visit>
decltype(auto) visit_column(const Value& value, db::Symbols& symbols, Visit&& visit) {
  constexpr StorageClass kept = storage_class<T>();
  const bool is_packed = value.kind == Value::Kind::blob;
  if constexpr (kept == StorageClass::symbol) {
    return visit(symbols.text(value.integer));
  } else if constexpr (kept == StorageClass::identifier) {
    return is_packed ? visit(PackedUuid{packed(value, packed_uuid_length)}) : visit(value.bytes);
  } else if constexpr (kept == StorageClass::hash) {
    return is_packed ? visit(PackedHexadecimal{packed(value, TransactionHash::packed_length)})
                     : visit(value.bytes);
  } else if constexpr (kept == StorageClass::timestamp) {
    return visit(decode_time(value.integer));
  } else if constexpr (kept == StorageClass::code) {
    return visit(decode<T>(value.integer));
  } else if constexpr (kept == StorageClass::boolean) {
    return visit(value.integer != 0);
  } else if constexpr (kept == StorageClass::addresses) {
    return is_packed ? visit(packed_addresses(value)) : visit(JsonText{value.bytes, '[', ']'});
  } else if constexpr (kept == StorageClass::document) {
    return visit(JsonText{value.bytes, '{', '}'});
  } else if constexpr (kept == StorageClass::amount || kept == StorageClass::computed) {
    return visit(Digits{value.bytes});
  } else {
    return visit(value.bytes);
  }
}

Addresses addresses_of(const PackedAddresses& packed);

// Makes the member of type T of what a column holds.
template <class T>
struct AsMember {
  T operator()(std::string_view text) const { return with_value(std::string(text)); }
  T operator()(const Packed auto& packed) const { return with_value(text_of(packed)); }
  T operator()(Digits digits) const { return T{{std::string(digits.text)}}; }
  T operator()(Timestamp moment) const {
    if constexpr (std::same_as<T, NullableTimestamp>) {
      return {moment};
    } else {
      return T{moment};
    }
  }
  T operator()(ClosedSet auto word) const { return word; }
  T operator()(std::same_as<bool> auto flag) const { return flag; }
  T operator()(const PackedAddresses& packed) const { return addresses_of(packed); }
  T operator()(const JsonText& json) const {
    if constexpr (std::same_as<T, Addresses>) {
      return json::read_stored_addresses(json.text);
    } else if constexpr (std::same_as<T, Metadata>) {
      return json::read_stored_metadata(json.text);
    } else {
      return json::read_stored<T>(json.text);
    }
  }

 private:
  static T with_value(std::string text) {
    T member{};
    member.value = std::move(text);
    return member;
  }
};

// The record of a row selected with `select_list`.
template <Record R>
R read_row(db::Query& row, db::Symbols& symbols) {
  R record{};
  for_each_indexed_field<R>([&]<class F, std::size_t I>() {
    const Value value = row.column(static_cast<int>(I));
    if (!value.is_null()) {
      using T = bare<typename F::Type>;
      record.*F::member = visit_column<T>(value, symbols, AsMember<T>{});
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
