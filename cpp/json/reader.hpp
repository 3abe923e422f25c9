// Reads records from JSON text. The whole document is validated: RFC 8259, UTF-8, escapes that are
// Unicode scalar values, nesting of at most 32, at most 1 MiB, one object, no duplicate member at
// any depth.
//
// Errors: content_too_large, malformed_json (not JSON), invalid_request (JSON, but not the expected
// record; names the path of every refused member).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "model/records.hpp"

namespace comptroller::json {

inline constexpr std::size_t largest_document = std::size_t{1} << 20U;
inline constexpr std::size_t deepest_nesting = 32;
// Bytes that must be readable after a document that is parsed in place.
inline constexpr std::size_t padding = 64;

// Unknown members that a lenient reader ignored, with their counts.
using UnknownMembers = std::map<std::string, std::uint64_t, std::less<>>;
inline constexpr std::size_t most_unknown_members = 1000;
// Counts a member so many times more; beyond the most as "...".
void count_unknown(UnknownMembers& members, std::string_view path, std::uint64_t times);

struct ReadOptions {
  // Counts unknown members; if it is null they are refused.
  UnknownMembers* unknown = nullptr;
  // A member that may contain the record, as in {"address": {...}}.
  std::string_view envelope;
  // Fields that the caller already has, such as the id of a path: not required in the document, and
  // refused there unless they may be repeated.
  std::span<const std::string_view> given_fields;
  bool may_repeat = false;
  // `padding` bytes after the document are readable, so it need not be copied.
  bool is_padded = false;
};

// Reads one document after another and reuses its buffers. Not thread-safe.
class Reader {
 public:
  Reader();
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // Sets the members of `record` that the document has; throws if a required one is missing.
  // Instantiated in json/read_*.cpp for every record that is read.
  template <Record R>
  void read(std::string_view document, R& record, const ReadOptions& options = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Reads a document that the store holds: a nested record, Metadata or Addresses. Throws unavailable
// if it is damaged.
template <class T>
T read_stored(std::string_view document);

}  // namespace comptroller::json
