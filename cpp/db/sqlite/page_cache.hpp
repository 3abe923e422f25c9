// Pages of a file as one read transaction after another sees them, kept in memory until the next
// commit.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "db/sqlite/log_index.hpp"

namespace comptroller::db::sqlite {

class PageCache {
 public:
  static constexpr std::size_t page_size = 4096;

  explicit PageCache(sqlite3* connection) : connection_(connection) {}

  // Begins to read the pages that the transaction of the connection sees, which must have begun to
  // read. `before` is the last commit before it began. Returns false if another commit followed, or
  // if the file is unusual: another page size, reserved bytes, an encoding other than UTF-8.
  bool follow(const LastCommit& before);

  // Returns a page, valid until the next call. Throws unusable if the page does not exist, and
  // unavailable if the disk reports an error.
  const char* page(std::uint32_t number);
  void copy(std::uint32_t number, std::vector<char>& into);

  // Changes with every commit that a transaction sees.
  std::uint64_t state() const { return state_; }
  std::uint32_t page_count() const { return page_count_; }
  std::uint32_t schema_version() const { return schema_version_; }

 private:
  static constexpr std::size_t slots = 1024;  // 4 MiB

  struct Slot {
    std::uint32_t number = 0;
    std::uint64_t state = 0;
    std::unique_ptr<std::array<char, page_size>> bytes;
  };

  bool has_usual_size() const;
  void read(std::uint32_t number, char* into) const;

  sqlite3* connection_;
  LastCommit commit_;
  std::uint32_t frames_in_file_ = 0;  // of the commit's frames
  std::uint64_t state_ = 0;
  std::uint32_t page_count_ = 0;
  std::uint32_t schema_version_ = 0;
  bool is_usual_ = false;
  std::vector<Slot> slots_;
};

}  // namespace comptroller::db::sqlite
