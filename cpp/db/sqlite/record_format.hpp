// Rows and index entries as SQLite stores them (https://www.sqlite.org/fileformat2.html, 1.5 and
// 2.1), and keys that sort like index entries.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "db/database.hpp"

namespace comptroller::db::sqlite {

// The size of a varint of SQLite's format is up to 9 bytes, but sizes, types of values and keys of
// loaded rows are less than 2^56.
inline constexpr std::size_t max_varint_size = 8;

// Writes a varint less than 2^56; returns the end of its bytes.
char* put_varint(char* out, std::uint64_t value);
void append_varint(std::string& out, std::uint64_t value);

void append_record(std::string& out, std::span<const Value> values);

// Writes bytes that compare (memcmp, then length) like the value in an ascending index with
// collation BINARY: NULL, integers, texts, blobs. The key of several values is the concatenation of
// their keys. Returns the end of the bytes, which are at most max_key_size(value).
char* put_key(char* out, const Value& value);
inline std::size_t max_key_size(const Value& value) {
  return 1 + sizeof value.integer + 2 * value.bytes.size();
}

// Reads the values of a key. They are valid until the next call, while the key exists.
class KeyReader {
 public:
  std::span<const Value> read(std::string_view key);

 private:
  std::string_view read_bytes(const char*& at, const char* end);

  std::vector<Value> values_;
  std::string unescaped_;  // the bytes of values that contain a zero
};

}  // namespace comptroller::db::sqlite
