// Limits and options of reading JSON text, and the reading of documents in the store. Does not
// include simdjson.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace comptroller::json {

inline constexpr std::size_t max_document_size = std::size_t{1} << 20U;
inline constexpr std::size_t deepest_nesting = 32;
// The number of bytes that must be readable after a document that is parsed in place.
inline constexpr std::size_t padding = 64;

// The unknown members that a lenient reader ignored, with their counts.
using UnknownMembers = std::map<std::string, std::uint64_t, std::less<>>;
inline constexpr std::size_t max_unknown_members = 1000;
// Adds `times` to the count of a member; when the map is full, to the count of "...".
void count_unknown(UnknownMembers& members, std::string_view path, std::uint64_t times);

struct ReadOptions {
  // Counts unknown members; null: unknown members are errors.
  UnknownMembers* unknown = nullptr;
  // Whether the document is a line to load, which another program may have written: a member that
  // is null is not set, an amount may be a number (see exact_number), a time may be written as
  // databases do (see Timestamp::parse_loaded).
  bool is_load = false;
  // A member that may contain the record, as in {"address": {...}}.
  std::string_view envelope;
  // Fields that the caller already has, such as the id in a path. They are not required in the
  // document, and they are errors there unless they may be repeated.
  std::span<const std::string_view> given_fields;
  bool may_repeat = false;
  // Whether `padding` bytes after the document are readable, so that it need not be copied.
  bool is_padded = false;
};

// Reads a document in the store: a nested record, Metadata or Addresses. Throws unusable if it is
// damaged.
template <class T>
T read_stored(std::string_view document);

}  // namespace comptroller::json
