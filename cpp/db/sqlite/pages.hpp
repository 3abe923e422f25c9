// Reads the pages of a file as one read transaction sees them, without SQL.
//
// A page comes from the write-ahead log if the log has a version of it that the snapshot sees, else
// from the file. The page in the file does not change while the transaction is open, because a
// checkpoint writes only what all readers see. Formats: https://sqlite.org/fileformat2.html
// for the file and the log.
#pragma once

#include <sqlite3.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "db/sqlite/log_index.hpp"

namespace comptroller::db::sqlite {

// The committed pages of a log up to a commit, copied to memory, because the log may restart as
// soon as all of it is in the file.
class LogPages {
 public:
  static constexpr std::size_t max_bytes = std::size_t{64} << 20U;

  // Returns nullptr if the log is too long, or its checksums do not match the commit.
  static std::shared_ptr<const LogPages> read(sqlite3* connection, const LastCommit& commit);

  // Returns null if the page is not in the log.
  const char* find(std::uint32_t page) const {
    const auto found = places_.find(page);
    return found == places_.end() ? nullptr : pages_.data() + found->second;
  }

 private:
  std::vector<char> pages_;
  std::unordered_map<std::uint32_t, std::size_t> places_;  // of the newest version of each page
};

class Pages {
 public:
  // Returns nullopt if the file is unusual: reserved bytes, auto-vacuum, an encoding other than
  // UTF-8.
  static std::optional<Pages> of(sqlite3* connection, const LastCommit& commit,
                                 std::shared_ptr<const LogPages> log);

  std::size_t page_size() const { return page_size_; }
  std::uint32_t count() const { return count_; }
  // Returns a page, valid until the next call, and reads pages that follow it in the file. Throws
  // unusable if the page does not exist.
  const char* read_ahead(std::uint32_t page);
  // Copies a page into `into`.
  void read(std::uint32_t page, std::vector<char>& into) const;

 private:
  Pages(sqlite3_file& file, std::shared_ptr<const LogPages> log, std::size_t page_size,
        std::uint32_t in_file, std::uint32_t count)
      : file_(&file),
        log_(std::move(log)),
        page_size_(page_size),
        in_file_(in_file),
        count_(count) {}

  void read_file(std::uint32_t page, std::uint32_t count, char* into) const;

  sqlite3_file* file_;
  std::shared_ptr<const LogPages> log_;
  std::size_t page_size_;
  std::uint32_t in_file_;  // pages that the file has
  std::uint32_t count_;
  std::vector<char> window_;  // pages of the file from window_begin_ on
  std::uint32_t window_begin_ = 0;
  std::uint32_t window_count_ = 0;
};

}  // namespace comptroller::db::sqlite
