#pragma once

#include <cstdint>

namespace comptroller {

// How a column stores the values of a type. The database driver chooses the column type.
enum class StorageClass : std::uint8_t {
  text,        // as received
  amount,      // a decimal number as received
  identifier,  // 16 bytes if it is a lower-case UUID, else text
  hash,        // 32 bytes if it is 0x and 64 lower-case hexadecimal digits, else text
  symbol,      // the key of its text in `symbols`
  timestamp,   // UTC microseconds
  code,        // the position of the value in its closed set
  boolean,     // 0 or 1
  addresses,   // 20 bytes each if all are 0x and 40 lower-case digits, else a JSON array
  document,    // JSON text
};

}  // namespace comptroller
