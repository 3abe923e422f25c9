// Simulates failed allocations. allocations.cpp replaces the operators new of the test program.
#pragma once

namespace comptroller {

// Until the end of the scope, the `first`th allocation with `new` of this thread, counted from 1,
// and all later ones throw std::bad_alloc.
class FailingAllocations {
 public:
  explicit FailingAllocations(int first);
  ~FailingAllocations();
  FailingAllocations(const FailingAllocations&) = delete;
  FailingAllocations& operator=(const FailingAllocations&) = delete;
};

}  // namespace comptroller
