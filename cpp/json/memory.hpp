#pragma once

#include <simdjson.h>

#include <new>

namespace comptroller::json {

// Throws std::bad_alloc if simdjson failed because memory ran out: the document may be valid.
inline void check_memory(simdjson::error_code result) {
  if (result == simdjson::MEMALLOC) throw std::bad_alloc();
}

}  // namespace comptroller::json
