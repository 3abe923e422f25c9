// How the columns of each storage class are read and written.
#pragma once

#include <memory>
#include <memory_resource>
#include <string_view>

#include "db/database.hpp"
#include "json/reader.hpp"
#include "json/writer.hpp"
#include "model/error.hpp"
#include "model/records.hpp"

namespace comptroller::store {

using comptroller::StorageClass;
using db::Value;

template <class T>
constexpr StorageClass storage_class() {
  return Scalar<T>::storage;
}

// Values as a statement takes them. Owns the bytes that are not the caller's.
class BoundValues {
 public:
  explicit BoundValues(db::Symbols& symbols) : symbols_(symbols) {}

  // The value of a column of type T. Text of `value` itself is not copied.
  template <class T>
  Value of(const T& value);

  Value symbol(std::string_view text) { return Value::of(symbols_.intern(text)); }
  Value identifier(std::string_view id);
  Value hash(std::string_view hash);
  Value addresses(const Addresses& addresses);
  // Releases the bytes of all values.
  void clear() {
    if (memory_) memory_->release();
  }
  // A copy of a text that the caller does not keep.
  Value own(std::string_view text) { return Value::of(keep(text)); }

 private:
  // A copy that stays where it is, even when this object moves.
  std::string_view keep(std::string_view bytes);

  db::Symbols& symbols_;
  std::unique_ptr<std::pmr::monotonic_buffer_resource> memory_;
};

// The bytes of a blob; throws unavailable unless there are `length` of them.
std::string_view require_length(const Value& value, std::size_t length);
// Those of packed addresses.
PackedAddresses require_addresses(const Value& value);
// Throws unavailable for a time outside years 0001 to 9999.
inline Timestamp require_time(std::int64_t microseconds) {
  const Timestamp time{microseconds};
  if (time >= earliest_timestamp && time <= latest_timestamp) return time;
  throw Error::damaged("a time is out of range");
}

// Throws unavailable for a code that no version wrote.
template <ClosedSet E>
E decode(std::int64_t code) {
  if (std::cmp_less(code, 0) || std::cmp_greater_equal(code, words_of<E>.size())) {
    throw Error::damaged("a code stands for no word");
  }
  return static_cast<E>(code);
}

// A column of type T. `read` calls `visit` with the view of a value that is not NULL and throws
// unavailable for a value that no version wrote; `bind` makes the value of a view.
template <class T, StorageClass = Scalar<T>::storage>
struct Column;

template <class T>
struct Column<T, StorageClass::text> {
  static void read(const Value& value, db::Symbols&, auto&& visit) { visit(value.bytes); }
  static Value bind(std::string_view text, BoundValues&) { return Value::of(text); }
};

template <class T>
struct Column<T, StorageClass::amount> {
  static void read(const Value& value, db::Symbols&, auto&& visit) { visit(Decimal{value.bytes}); }
  static Value bind(Decimal number, BoundValues&) { return Value::of(number.text); }
};

template <class T>
struct Column<T, StorageClass::symbol> {
  static void read(const Value& value, db::Symbols& symbols, auto&& visit) {
    visit(symbols.text(value.integer));
  }
  static Value bind(std::string_view text, BoundValues& values) { return values.symbol(text); }
};

template <class T>
struct Column<T, StorageClass::identifier> {
  static void read(const Value& value, db::Symbols&, auto&& visit) {
    if (value.kind != Value::Kind::blob) return visit(value.bytes);
    visit(PackedUuid{require_length(value, packed_uuid_length)});
  }
  static Value bind(std::string_view id, BoundValues& values) { return values.identifier(id); }
};

template <class T>
struct Column<T, StorageClass::hash> {
  static void read(const Value& value, db::Symbols&, auto&& visit) {
    if (value.kind != Value::Kind::blob) return visit(value.bytes);
    visit(PackedHexadecimal{require_length(value, TransactionHash::packed_length)});
  }
  static Value bind(std::string_view hash, BoundValues& values) { return values.hash(hash); }
};

template <class T>
struct Column<T, StorageClass::timestamp> {
  static void read(const Value& value, db::Symbols&, auto&& visit) {
    visit(require_time(value.integer));
  }
  static Value bind(const std::optional<Timestamp>& time, BoundValues&) {
    return time ? Value::of(time->microseconds) : Value::null();
  }
};

template <class E>
struct Column<E, StorageClass::code> {
  static void read(const Value& value, db::Symbols&, auto&& visit) {
    visit(decode<E>(value.integer));
  }
  static Value bind(E value, BoundValues&) { return Value::of(static_cast<std::int64_t>(value)); }
};

template <class T>
struct Column<T, StorageClass::boolean> {
  static void read(const Value& value, db::Symbols&, auto&& visit) { visit(value.integer != 0); }
  static Value bind(bool flag, BoundValues&) { return Value::of(std::int64_t{flag}); }
};

template <class T>
struct Column<T, StorageClass::addresses> {
  static void read(const Value& value, db::Symbols&, auto&& visit) {
    if (value.kind != Value::Kind::blob) return visit(JsonText<T>{value.bytes});
    visit(require_addresses(value));
  }
  static Value bind(const T& list, BoundValues& values) { return values.addresses(list); }
};

template <class T>
struct Column<T, StorageClass::document> {
  static void read(const Value& value, db::Symbols&, auto&& visit) {
    visit(JsonText<T>{value.bytes});
  }
  static Value bind(const View<T>& view, BoundValues& values) {
    std::string text;
    json::JsonWriter(text).write(view);
    return values.own(text);
  }
};

template <class T>
Value BoundValues::of(const T& value) {
  return Column<T>::bind(Scalar<T>::view(value), *this);
}

}  // namespace comptroller::store
