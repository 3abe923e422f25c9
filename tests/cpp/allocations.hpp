// Allocations that fail when a test wants them to. The operators new of the test program are
// replaced in allocations.cpp.
#pragma once

namespace comptroller {

// To the end of the scope, the `first`th allocation with `new` of this thread, from 1, and those
// after it throw std::bad_alloc.
class FailingAllocations {
 public:
  explicit FailingAllocations(int first);
  ~FailingAllocations();
  FailingAllocations(const FailingAllocations&) = delete;
  FailingAllocations& operator=(const FailingAllocations&) = delete;
};

}  // namespace comptroller
