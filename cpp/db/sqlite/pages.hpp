// Reads the pages of a file as one read transaction after another sees them, without SQL.
//
// A page comes from the write-ahead log if the log has a version of it that the transaction sees,
// else from the file. The page in the file does not change while the transaction is open, because a
// checkpoint writes only what all readers see. Formats: https://sqlite.org/fileformat2.html
// for the file and the log.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "db/sqlite/log_index.hpp"

namespace comptroller::db::sqlite {

// For one connection. Keeps pages in memory until the next commit.
class Pages {
 public:
  explicit Pages(sqlite3* connection) : connection_(connection) {}

  // Begins to read the pages that the transaction of the connection sees, which must have begun to
  // read. `before` is the last commit before it began. Returns false if another commit followed, or
  // if the file is unusual: reserved bytes, auto-vacuum, an encoding other than UTF-8.
  bool follow(const LastCommit& before);

  // Returns a page, valid until the next call of `page` or `read_ahead`. Throws unusable if the
  // page does not exist, and unavailable if the disk reports an error.
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

  bool has_usual_header();
  void read(std::uint32_t number, char* into);
  void read_file(std::uint32_t number, std::uint32_t count, char* into) const;

  sqlite3* connection_;
  LastCommit commit_;
  std::uint32_t frames_in_file_ = 0;  // of the commit's frames
  std::uint64_t state_ = 0;
  std::size_t page_size_ = 0;  // 0: not known yet
  std::uint32_t count_ = 0;
  std::uint32_t schema_version_ = 0;
  bool is_usual_ = false;
  std::vector<Slot> slots_;
  std::vector<char> frame_;
  std::vector<char> window_;  // pages of the file from window_begin_ on, read in this transaction
  std::uint32_t window_begin_ = 0;
  std::uint32_t window_count_ = 0;
};

}  // namespace comptroller::db::sqlite
