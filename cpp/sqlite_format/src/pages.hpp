// Reads the pages of a file as one read transaction after another sees them, without SQL.
//
// A page comes from the WAL if it has a version of it that the transaction sees,
// else from the file. The page in the file does not change while the transaction is open, because a
// checkpoint writes only what all readers see. Formats: https://sqlite.org/fileformat2.html
// and https://sqlite.org/walformat.html.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sqlite_format/sqlite_format.hpp"
#include "sqlite_format/src/wal_index.hpp"

namespace sqlite_format {

// For one connection. Keeps pages in memory until the next commit.
class Pages {
 public:
  explicit Pages(sqlite3* connection) : connection_(connection) {}

  // See Snapshot::follow.
  bool follow(const LastCommit& before);

  // Returns a page, valid until the next call of `page` or `read_ahead`.
  const char* page(std::uint32_t number);
  // Does the same, and reads pages that follow it in the file, which it keeps until the next call.
  const char* read_ahead(std::uint32_t number);
  void copy(std::uint32_t number, std::vector<char>& into);

  // Changes with every commit that a transaction sees.
  std::uint64_t state() const { return state_; }
  std::size_t page_size() const { return page_size_; }
  std::uint32_t count() const { return count_; }
  std::uint32_t schema_version() const { return schema_version_; }

 private:
  struct Slot {
    std::uint32_t number = 0;
    std::uint64_t state = 0;
    std::unique_ptr<char[]> bytes;  // NOLINT(modernize-avoid-c-arrays): of a size that varies
  };

  bool has_supported_header();
  void read(std::uint32_t number, char* into);
  void read_file(std::uint32_t number, std::uint32_t count, char* into) const;

  sqlite3* connection_;
  LastCommit commit_;
  WalIndexHeader header_;         // of the commit
  std::uint32_t backfilled_ = 0;  // of the frames of the commit
  std::uint64_t state_ = 0;
  std::size_t page_size_ = 0;  // 0: not known yet
  std::uint32_t count_ = 0;
  std::uint32_t schema_version_ = 0;
  bool is_supported_ = false;
  std::vector<Slot> slots_;
  std::vector<char> frame_;
  std::vector<char> window_;  // pages of the file from window_begin_ on, read in this transaction
  std::uint32_t window_begin_ = 0;
  std::uint32_t window_count_ = 0;
};

}  // namespace sqlite_format
