// The index of the write-ahead log, in memory that all processes share
// (https://sqlite.org/walformat.html), and the files that SQLite holds open for a connection.
#pragma once

#include <sqlite3.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

namespace comptroller::db::sqlite {

inline constexpr std::size_t log_header_size = 32;
inline constexpr std::size_t frame_header_size = 24;
inline constexpr std::size_t salts_in_frame =
    8;  // the offset of the salts in the header of a frame

// Returns the database's file or, for SQLITE_FCNTL_JOURNAL_POINTER, the log; null if SQLite does
// not hold it open.
sqlite3_file* file_of(sqlite3* connection, int operation);
// Reads from a file; returns SQLite's result code.
int read_at(sqlite3_file& file, char* into, std::size_t size, std::int64_t offset);

// The running checksum of a log and of its index.
class Checksum {
 public:
  explicit Checksum(bool is_big_endian)
      : swaps_(is_big_endian != (std::endian::native == std::endian::big)) {}

  void add(const char* bytes, std::size_t size) {
    for (std::size_t at = 0; at < size; at += 2 * sizeof(std::uint32_t)) {
      sums_[0] += word(bytes + at) + sums_[1];
      sums_[1] += word(bytes + at + sizeof(std::uint32_t)) + sums_[0];
    }
  }
  const std::array<std::uint32_t, 2>& sums() const { return sums_; }

 private:
  std::uint32_t word(const char* at) const {
    std::uint32_t word = 0;
    std::memcpy(&word, at, sizeof word);
    return swaps_ ? __builtin_bswap32(word) : word;
  }

  bool swaps_;
  std::array<std::uint32_t, 2> sums_{};
};

// The last commit according to the index of the log. If it is equal before and after a transaction
// begins, it is the commit that the transaction sees.
struct LastCommit {
  std::uint32_t frames = 0;  // in the log up to this commit; 0: the log is not needed
  std::uint32_t pages = 0;   // in the database, if there are frames
  std::uint32_t changes = 0;
  std::array<std::uint32_t, 2> checksum{};  // of the log up to this commit
  std::array<char, 8> salts{};              // identify this round of the log
  bool has_big_endian_checksums = false;
  std::uint32_t page_size = 0;

  friend bool operator==(const LastCommit&, const LastCommit&) = default;

  // Returns nullopt if the database has no log, or the index has an unknown version or is being
  // written.
  static std::optional<LastCommit> of(sqlite3* connection);
};

// Returns the number of frames, from the first one, whose pages a checkpoint has written to the
// database's file; nullopt if the connection has no log.
std::optional<std::uint32_t> count_frames_in_file(sqlite3* connection);

// Returns the newest frame in (after, last] that has the page; 0 if there is none. `last` must be
// committed, and the log must not restart meanwhile.
std::uint32_t find_frame(sqlite3* connection, std::uint32_t page, std::uint32_t after,
                         std::uint32_t last);

}  // namespace comptroller::db::sqlite
