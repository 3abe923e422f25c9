// Reads and writes the columns of each storage class.
#pragma once

#include <array>
#include <memory>
#include <memory_resource>
#include <string_view>

#include "db/database.hpp"
#include "json/reading.hpp"
#include "json/writer.hpp"
#include "model/addresses.hpp"
#include "model/error.hpp"
#include "model/scalar.hpp"

namespace comptroller::store {

using comptroller::StorageClass;
using db::Value;

template <class T>
constexpr StorageClass storage_class() {
  return FieldType<T>::storage;
}

// The values of the parameters of a statement. Owns the bytes that do not belong to the caller.
class BoundValues {
 public:
  explicit BoundValues(db::Symbols& symbols) : symbols_(symbols) {}

  // Returns the value of a column of type T. The text of `value` is not copied.
  template <class T>
  Value of(const T& value);

  Value symbol(std::string_view text) { return Value::of(symbols_.intern(text)); }
  Value identifier(std::string_view id);
  Value hash(std::string_view hash);
  Value addresses(const Addresses& addresses);
  // Releases the bytes of all values.
  void clear() {
    if (memory_) memory_->bytes.release();
  }
  // Returns a copy of a text that the caller does not keep.
  Value own(std::string_view text);

 private:
  // The ids, hashes and addresses of a usual record fit into the first bytes.
  struct Memory {
    std::array<char, 512> first{};
    std::pmr::monotonic_buffer_resource bytes{first.data(), first.size()};
  };

  // Returns memory whose address stays the same, even when this object is moved.
  char* allocate(std::size_t size);

  db::Symbols& symbols_;
  std::unique_ptr<Memory> memory_;
};

// An id that no row has.
inline Value unused_id() {
  return Value::blob("none");
}

// Returns a value; throws unusable if it is of another type.
[[gnu::always_inline]] inline std::int64_t require_integer(const Value& value) {
  if (value.kind == Value::Kind::integer) return value.integer;
  throw db::wrong_type(value, "an integer");
}
[[gnu::always_inline]] inline std::string_view require_text(const Value& value) {
  if (value.kind == Value::Kind::text) return value.bytes;
  throw db::wrong_type(value, "text");
}
// Returns the bytes of a blob; throws unusable if their number is not `length`.
std::string_view require_length(const Value& value, std::size_t length);
// Returns packed addresses; throws unusable if the length of the blob is wrong.
PackedAddresses require_addresses(const Value& value);
// Throws unusable for a time outside years 0001 to 9999.
inline Timestamp require_time(std::int64_t microseconds) {
  const Timestamp time{microseconds};
  if (time >= earliest_timestamp && time <= latest_timestamp) return time;
  throw Error::damaged("a time is out of range");
}

// Throws unusable for an invalid code.
template <ClosedSet E>
E decode(std::int64_t code) {
  if (std::cmp_less(code, 0) || std::cmp_greater_equal(code, enum_texts<E>.size())) {
    throw Error::damaged("a code has no value");
  }
  return static_cast<E>(code);
}

// A column of type T. `read` calls `visit` with the view of a value that is not NULL, and throws
// unusable for an invalid value. `bind` returns the value of a view.
template <class T, StorageClass = FieldType<T>::storage>
struct Column;

template <class T>
struct Column<T, StorageClass::text> {
  static void read(const Value& value, db::Symbols&, auto&& visit) { visit(require_text(value)); }
  static Value bind(std::string_view text, BoundValues&) { return Value::of(text); }
};

template <class T>
struct Column<T, StorageClass::amount> {
  static void read(const Value& value, db::Symbols&, auto&& visit) {
    visit(Decimal{require_text(value)});
  }
  static Value bind(Decimal number, BoundValues&) { return Value::of(number.text); }
};

template <class T>
struct Column<T, StorageClass::symbol> {
  static void read(const Value& value, db::Symbols& symbols, auto&& visit) {
    visit(symbols.text(require_integer(value)));
  }
  static Value bind(std::string_view text, BoundValues& values) { return values.symbol(text); }
};

template <class T>
struct Column<T, StorageClass::identifier> {
  static void read(const Value& value, db::Symbols&, auto&& visit) {
    if (value.kind != Value::Kind::blob) return visit(require_text(value));
    visit(PackedUuid{require_length(value, packed_uuid_length)});
  }
  static Value bind(std::string_view id, BoundValues& values) { return values.identifier(id); }
};

template <class T>
struct Column<T, StorageClass::hash> {
  static void read(const Value& value, db::Symbols&, auto&& visit) {
    if (value.kind != Value::Kind::blob) return visit(require_text(value));
    visit(PackedHexadecimal{require_length(value, TransactionHash::packed_length)});
  }
  static Value bind(std::string_view hash, BoundValues& values) { return values.hash(hash); }
};

template <class T>
struct Column<T, StorageClass::timestamp> {
  static void read(const Value& value, db::Symbols&, auto&& visit) {
    visit(require_time(require_integer(value)));
  }
  static Value bind(Timestamp time, BoundValues&) { return Value::of(time.microseconds); }
};

template <class E>
struct Column<E, StorageClass::code> {
  static void read(const Value& value, db::Symbols&, auto&& visit) {
    visit(decode<E>(require_integer(value)));
  }
  static Value bind(E value, BoundValues&) { return Value::of(static_cast<std::int64_t>(value)); }
};

template <class T>
struct Column<T, StorageClass::boolean> {
  static void read(const Value& value, db::Symbols&, auto&& visit) {
    const std::int64_t number = require_integer(value);
    if (number != 0 && number != 1) throw Error::damaged("a flag is neither 0 nor 1");
    visit(number != 0);
  }
  static Value bind(bool flag, BoundValues&) { return Value::of(std::int64_t{flag}); }
};

template <class T>
struct Column<T, StorageClass::addresses> {
  static void read(const Value& value, db::Symbols&, auto&& visit) {
    if (value.kind != Value::Kind::blob) return visit(JsonText<T>{require_text(value)});
    visit(require_addresses(value));
  }
  static Value bind(const T& list, BoundValues& values) { return values.addresses(list); }
};

template <class T>
struct Column<T, StorageClass::document> {
  static void read(const Value& value, db::Symbols&, auto&& visit) {
    visit(JsonText<T>{require_text(value)});
  }
  static Value bind(const View<T>& view, BoundValues& values) {
    std::string text;
    json::JsonWriter(text).write(view);
    return values.own(text);
  }
};

template <class T>
Value BoundValues::of(const T& value) {
  return Column<T>::bind(view_of(value), *this);
}

}  // namespace comptroller::store
