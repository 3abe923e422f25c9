// Replaces `new` and SQLite's allocator (see injection.hpp).
#include <sqlite3.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <stdexcept>

#include "injection.hpp"

namespace {

using comptroller::faults::Call;
using comptroller::faults::strike;

sqlite3_mem_methods methods_of_sqlite{};

void* allocate(int size) {
  return strike(Call::allocate_in_sqlite) ? nullptr : methods_of_sqlite.xMalloc(size);
}

void* resize(void* memory, int size) {
  return strike(Call::allocate_in_sqlite) ? nullptr : methods_of_sqlite.xRealloc(memory, size);
}

}  // namespace

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return strike(Call::allocate) ? nullptr : std::malloc(size == 0 ? 1 : size);
}

void* operator new(std::size_t size) {
  void* const memory = operator new(size, std::nothrow);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace comptroller::faults {

void replace_allocator_of_sqlite() {
  sqlite3_config(SQLITE_CONFIG_GETMALLOC, &methods_of_sqlite);
  sqlite3_mem_methods replaced = methods_of_sqlite;
  replaced.xMalloc = &allocate;
  replaced.xRealloc = &resize;
  if (sqlite3_config(SQLITE_CONFIG_MALLOC, &replaced) != SQLITE_OK) {
    throw std::runtime_error("SQLite's allocator cannot be replaced");
  }
}

}  // namespace comptroller::faults
