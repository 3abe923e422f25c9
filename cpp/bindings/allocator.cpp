#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "bindings/bindings.hpp"

namespace comptroller::bindings {

namespace {

// glibc raises its thresholds to the size of the largest freed block: after the first check of a
// client's secret, which takes 16 MiB, each arena would keep up to 32 MiB of free memory, and there
// are eight arenas for each core. Fixed thresholds stay.
void limit_free_memory() {
#ifdef __GLIBC__
  constexpr int mib = 1 << 20;
  ::mallopt(M_ARENA_MAX, 4);
  ::mallopt(M_MMAP_THRESHOLD, mib);  // the longest list has less, so it needs no system call
  ::mallopt(M_TRIM_THRESHOLD, 8 * mib);
#endif
}

// The thresholds are for the end of the heap of each arena. Before it, whole pages of free memory
// stay between small pieces that are in use.
void return_free_memory() {
#ifdef __GLIBC__
  const pybind11::gil_scoped_release release;
  ::malloc_trim(0);
#endif
}

}  // namespace

void bind_allocator(pybind11::module_& module) {
  module.def("limit_free_memory", &limit_free_memory);
  module.def("return_free_memory", &return_free_memory);
}

}  // namespace comptroller::bindings
