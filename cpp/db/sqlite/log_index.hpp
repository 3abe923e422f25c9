// The index of the write-ahead log, in memory that all processes share
// (https://sqlite.org/walformat.html), and the files that SQLite holds open for a connection.
#pragma once

#include <sqlite3.h>

#include <array>
#include <cstddef>
#include <cstdint>
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

// The last commit according to the index of the log, as in the index's header. If it is equal
// before and after a transaction begins, it is the commit that the transaction sees.
struct LastCommit {
  std::uint32_t version = 0;
  std::uint32_t unused = 0;
  std::uint32_t changes = 0;
  std::uint8_t is_initialised = 0;
  std::uint8_t has_big_endian_checksums = 0;
  std::uint16_t page_size = 0;  // 1: 65536
  std::uint32_t frames = 0;     // in the log up to this commit; 0: the log is not needed
  std::uint32_t pages = 0;
  std::array<std::uint32_t, 2> frame_checksum{};
  std::array<char, 8> salts{};  // identify this round of the log
  std::array<std::uint32_t, 2> checksum{};

  std::size_t bytes_of_page() const { return page_size == 1 ? 65536 : page_size; }
  friend bool operator==(const LastCommit&, const LastCommit&) = default;

  // Returns nullopt if the connection has not opened a log, or the index has an unknown version or
  // is being written.
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
