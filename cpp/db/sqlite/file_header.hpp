// The header of a database file (https://sqlite.org/fileformat2.html#the_database_header), whose
// numbers are big-endian.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace comptroller::db::sqlite {

inline constexpr std::size_t file_header_size = 100;

// The offsets of its members.
inline constexpr std::size_t page_size_at = 16;  // 1: 65536
inline constexpr std::size_t write_version_at = 18;
inline constexpr std::size_t read_version_at = 19;
inline constexpr std::size_t reserved_bytes_at = 20;
inline constexpr std::size_t change_counter_at = 24;
inline constexpr std::size_t page_count_at = 28;
inline constexpr std::size_t first_list_page_at = 32;  // of the list of unused pages
inline constexpr std::size_t unused_pages_at = 36;
inline constexpr std::size_t schema_version_at = 40;
inline constexpr std::size_t schema_format_at = 44;
inline constexpr std::size_t largest_root_at = 52;  // 0 without auto_vacuum
inline constexpr std::size_t encoding_at = 56;      // 1: UTF-8
inline constexpr std::size_t valid_for_at =
    92;  // the change counter when the page count was written

// Converts an unsigned number to and from the big-endian order of its bytes in memory.
template <class Number>
Number big_endian(Number number) {
  if constexpr (std::endian::native == std::endian::big) {
    return number;
  } else if constexpr (sizeof number == 2) {
    return __builtin_bswap16(number);
  } else if constexpr (sizeof number == 4) {
    return __builtin_bswap32(number);
  } else {
    static_assert(sizeof number == 8);
    return __builtin_bswap64(number);
  }
}

// Reads an unsigned big-endian number. The caller has checked that the bytes exist.
template <class Number>
Number read_number(const char* at) {
  Number number = 0;
  std::memcpy(&number, at, sizeof number);
  return big_endian(number);
}

// Writes the last `size` bytes of a number in big-endian order.
inline void write_number(char* out, std::uint64_t number, std::size_t size) {
  for (std::size_t i = size; i-- > 0; number >>= 8U) out[i] = static_cast<char>(number);
}
inline std::string four_bytes(std::uint32_t number) {
  std::string bytes(sizeof number, '\0');
  write_number(bytes.data(), number, bytes.size());
  return bytes;
}

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
  bool is_usual() const {
    return bytes[reserved_bytes_at] == 0 && number(largest_root_at) == 0 &&
           number(encoding_at) == 1;
  }
  void set(std::size_t at, std::uint32_t number) {
    write_number(bytes.data() + at, number, sizeof number);
  }
};

}  // namespace comptroller::db::sqlite
