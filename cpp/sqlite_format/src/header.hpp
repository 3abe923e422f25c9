// The header of a database file (fileformat2.html, 1.3).
#pragma once

#include <array>

#include "sqlite_format/src/bytes.hpp"

namespace sqlite_format {

inline constexpr std::size_t file_header_size = 100;

// The offsets of its members.
inline constexpr std::size_t page_size_at = 16;  // 1: 65536
inline constexpr std::size_t write_version_at = 18;
inline constexpr std::size_t read_version_at = 19;
inline constexpr std::size_t reserved_bytes_at = 20;
inline constexpr std::size_t change_counter_at = 24;
inline constexpr std::size_t page_count_at = 28;
inline constexpr std::size_t freelist_trunk_at = 32;  // the first trunk page
inline constexpr std::size_t freelist_count_at = 36;
inline constexpr std::size_t schema_cookie_at = 40;
inline constexpr std::size_t schema_format_at = 44;
inline constexpr std::size_t largest_root_at = 52;  // 0 without auto_vacuum
inline constexpr std::size_t encoding_at = 56;      // 1: UTF-8
// The change counter when the page count was written.
inline constexpr std::size_t version_valid_for_at = 92;

// Values of the read and write versions.
inline constexpr char rollback_journal = 1;
inline constexpr char write_ahead_log = 2;

struct FileHeader {
  std::array<char, file_header_size> bytes{};

  std::uint32_t number(std::size_t at) const {
    return read_number<std::uint32_t>(bytes.data() + at);
  }
  std::size_t page_size() const {
    const auto size = read_number<std::uint16_t>(bytes.data() + page_size_at);
    return size == 1 ? 65536 : size;
  }
  // Whether the file has UTF-8, no reserved bytes and no auto_vacuum.
  bool is_supported() const {
    return bytes[reserved_bytes_at] == 0 && number(largest_root_at) == 0 &&
           number(encoding_at) == 1;
  }
  void set(std::size_t at, std::uint32_t number) {
    write_number(bytes.data() + at, number, sizeof number);
  }
};

}  // namespace sqlite_format
