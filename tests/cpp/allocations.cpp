#include "allocations.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

// The number of further allocations of this thread that succeed; negative: all of them.
thread_local int left = -1;

}  // namespace

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  if (left == 0) return nullptr;
  if (left > 0) --left;
  return std::malloc(size == 0 ? 1 : size);
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

namespace comptroller {

FailingAllocations::FailingAllocations(int first) {
  left = first - 1;
}

FailingAllocations::~FailingAllocations() {
  left = -1;
}

}  // namespace comptroller
