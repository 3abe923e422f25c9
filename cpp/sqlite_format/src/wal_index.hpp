// The WAL and its wal-index, in memory that all processes share (walformat.html), and the files
// that SQLite holds open for a connection.
#pragma once

#include <sqlite3.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "sqlite_format/sqlite_format.hpp"

namespace sqlite_format {

inline constexpr std::size_t wal_header_size = 32;
inline constexpr std::size_t frame_header_size = 24;
inline constexpr std::size_t salts_in_frame = 8;  // their offset in the header of a frame

// The layout of LastCommit::header, which is WalIndexHdr.
struct WalIndexHeader {
  std::uint32_t version = 0;
  std::uint32_t unused = 0;
  std::uint32_t change_counter = 0;
  std::uint8_t is_initialised = 0;
  std::uint8_t has_big_endian_checksums = 0;
  std::uint16_t page_size = 0;  // 1: 65536
  std::uint32_t max_frame = 0;  // mxFrame; 0: the WAL is not needed
  std::uint32_t pages = 0;
  std::array<std::uint32_t, 2> frame_checksum{};
  std::array<char, 8> salts{};  // differ each time the WAL begins again
  std::array<std::uint32_t, 2> checksum{};

  static WalIndexHeader of(const LastCommit& commit);
  std::size_t bytes_per_page() const { return page_size == 1 ? 65536 : page_size; }
};

// Returns the database's file or, for SQLITE_FCNTL_JOURNAL_POINTER, the WAL; null if SQLite does
// not hold it open.
sqlite3_file* file_of(sqlite3* connection, int operation);
// Reads from a file; returns SQLite's result code.
int read_at(sqlite3_file& file, char* into, std::size_t size, std::int64_t offset);

// Returns the newest frame in (after, last] that has the page; 0 if there is none. `last` must be
// committed, and the WAL must not begin again meanwhile.
std::uint32_t find_frame(sqlite3* connection, std::uint32_t page, std::uint32_t after,
                         std::uint32_t last);

}  // namespace sqlite_format
