#include "sqlite_format/src/bytes.hpp"

#include "sqlite_format/sqlite_format.hpp"

namespace sqlite_format {

void throw_corrupt() {
  throw Failure(SQLITE_CORRUPT, "a page of its file is not as SQLite writes it");
}

std::uint64_t read_long_varint(const char*& at, const char* end) {
  std::uint64_t number = 0;
  for (int count = 1; at < end; ++count) {
    const auto byte = static_cast<unsigned char>(*at++);
    if (count == 9) return number << 8U | byte;
    number = number << 7U | (byte & 0x7FU);
    if (byte < 0x80) return number;
  }
  throw_corrupt();
}

char* put_varint(char* out, std::uint64_t value) {
  if (value < 0x80) {
    *out = static_cast<char>(value);
    return out + 1;
  }
  std::size_t last = varint_length(value) - 1;
  char* const end = out + last + 1;
  out[last] = static_cast<char>(value & 0x7FU);
  while (last-- > 0) {
    value >>= 7U;
    out[last] = static_cast<char>(value | 0x80U);
  }
  return end;
}

void append_varint(std::string& out, std::uint64_t value) {
  char bytes[max_written_varint];
  out.append(bytes, put_varint(bytes, value));
}

}  // namespace sqlite_format
