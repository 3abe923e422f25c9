// JSON text -> records. The whole document is validated: RFC 8259, UTF-8, escapes that are Unicode
// scalar values, nesting of at most 32, at most 1 MiB, one object, no member twice at any depth.
//
// Refusals are Errors: content_too_large, malformed_json (it is not JSON), invalid_request (it is,
// but not what is asked for; every refused member is named by its path).
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
// Bytes that must be readable behind a document that is parsed in place.
inline constexpr std::size_t padding = 64;

// Members a lenient reader met and left out, and how often.
using UnknownMembers = std::map<std::string, std::uint64_t, std::less<>>;

struct ReadOptions {
  // Where unknown members are counted; without it they are refused.
  UnknownMembers* unknown = nullptr;
  // A member that may hold the record instead of the document itself, as in {"address": {...}}.
  std::string_view envelope;
  // Fields that come from elsewhere: not required in the document, and refused there unless they
  // may be repeated.
  std::span<const std::string_view> elsewhere;
  bool may_repeat = false;
  // `padding` bytes behind the document are readable, so it need not be copied.
  bool is_padded = false;
};

// Reads one document after another; keeps its buffers. For one thread at a time.
class Reader {
 public:
  Reader();
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // Sets the members of `record` that the document names and checks that the required ones are
  // there. Defined for every record that is ever read (json/read_*.cpp).
  template <Record R>
  void read(std::string_view document, R& record, const ReadOptions& options = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Read what this library wrote itself and the store kept as text. Where that is damaged:
// unavailable.
template <Record R>
R read_stored(std::string_view document);
Metadata read_stored_metadata(std::string_view document);
Addresses read_stored_addresses(std::string_view document);

}  // namespace comptroller::json
