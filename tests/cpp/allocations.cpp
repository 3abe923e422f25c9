#include "allocations.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

// How many allocations of this thread succeed from now on; negative: all.
thread_local int left = -1;

}  // namespace

void* operator new(std::size_t size) {
  if (left == 0) throw std::bad_alloc();
  if (left > 0) --left;
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace comptroller {

FailingAllocations::FailingAllocations(int first) {
  left = first - 1;
}

FailingAllocations::~FailingAllocations() {
  left = -1;
}

}  // namespace comptroller
