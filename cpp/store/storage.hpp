// How each scalar type is kept in a column. One class a type. Whatever reads columns (records, rows
// as JSON or CSV, Arrow batches) gets them by visit_column, which switches on it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/error.hpp"
#include "model/records.hpp"
#include "model/wording.hpp"

namespace comptroller::store {

enum class StorageClass : std::uint8_t {
  text,        // as it came
  amount,      // as it came; plain digits
  identifier,  // 16 bytes where it is a lower-case UUID, else text
  hash,        // 32 bytes where it is 0x and 64 lower-case hex digits, else text
  symbol,      // the key of its text in `symbols`
  timestamp,   // UTC microseconds
  code,        // the position of its word
  boolean,     // 0 or 1
  addresses,   // 20 bytes each where all are lower-case 0x addresses, else a JSON array
  document,    // JSON text
  computed,    // in no column: looked up or derived when asked for
};

template <class T>
constexpr StorageClass storage_class() {
  if constexpr (std::same_as<T, SnapshotBalance>) {
    return StorageClass::computed;
  } else if constexpr (std::same_as<T, Word> || std::same_as<T, Term> ||
                       std::same_as<T, CustomerId> || std::same_as<T, OwnerId> ||
                       std::same_as<T, GroupId>) {
    return StorageClass::symbol;
  } else if constexpr (std::same_as<T, Id> || std::same_as<T, Uuid>) {
    return StorageClass::identifier;
  } else if constexpr (std::same_as<T, TransactionHash>) {
    return StorageClass::hash;
  } else if constexpr (std::same_as<T, Amount> || std::same_as<T, NonNegativeAmount>) {
    return StorageClass::amount;
  } else if constexpr (std::derived_from<T, Timestamp> || std::same_as<T, NullableTimestamp>) {
    return StorageClass::timestamp;
  } else if constexpr (ClosedSet<T>) {
    return StorageClass::code;
  } else if constexpr (std::same_as<T, bool>) {
    return StorageClass::boolean;
  } else if constexpr (std::same_as<T, Addresses>) {
    return StorageClass::addresses;
  } else if constexpr (std::same_as<T, Metadata> || Record<T>) {
    return StorageClass::document;
  } else {
    return StorageClass::text;
  }
}

// The word that a stored code stands for. Throws unavailable for one that no version wrote.
template <ClosedSet E>
E decode(std::int64_t code) {
  if (code < 0 || code >= static_cast<std::int64_t>(words_of<E>.size())) {
    throw Error::damaged("a code stands for no word");
  }
  return static_cast<E>(code);
}

// The moment that a column holds. Throws unavailable for one outside years 0001 to 9999.
inline Timestamp decode_time(std::int64_t microseconds) {
  const Timestamp moment{microseconds};
  if (moment < earliest_timestamp || moment > latest_timestamp) {
    throw Error::damaged("a time is out of range");
  }
  return moment;
}

template <class F>
inline constexpr StorageClass storage_of = storage_class<bare<typename F::Type>>();

// Every kind of record that has a table: calls `visitor.operator()<R>()` for each.
template <class Visitor>
void for_each_table(Visitor&& visitor) {
  visitor.template operator()<StoredIdentity>();
  visitor.template operator()<Control>();
  visitor.template operator()<Orchestration>();
  visitor.template operator()<PayoutGroup>();
  visitor.template operator()<RewardAddress>();
  visitor.template operator()<Balance>();
  visitor.template operator()<Claim>();
}

// Calls `visitor.operator()<R>()` for the kind of this name, which may have dashes for underscores.
// Refuses one that is none: invalid_request.
template <class Visitor>
void visit_table(std::string_view kind, Visitor&& visitor) {
  std::string table(kind);
  std::ranges::replace(table, '-', '_');
  bool is_known = false;
  std::vector<std::string_view> known;
  for_each_table([&]<class R>() {
    known.push_back(R::table);
    if (R::table != table) return;
    is_known = true;
    visitor.template operator()<R>();
  });
  if (is_known) return;
  throw Error::invalid("kind", '"' + shorten(kind) + "\" " + unknown_name_message(table, known));
}

}  // namespace comptroller::store
