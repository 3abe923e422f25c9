#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <thread>

#include "injection.hpp"

extern "C" __attribute__((weak)) void __lsan_do_leak_check();  // NOLINT: of the sanitizer

namespace {

// The leak sanitizer moves its table of all threads, without a lock for its readers, whenever their
// number reaches the next power of two. So the table gets its size first.
void grow_table_of_threads() {
  constexpr int threads = (1 << 15) + 1;
  if (__lsan_do_leak_check == nullptr) return;
  for (int i = 0; i < threads; ++i) std::thread([] {}).join();
}

}  // namespace

int main(int count, char** arguments) {
  comptroller::faults::replace_allocator_of_sqlite();
  grow_table_of_threads();
  return doctest::Context(count, arguments).run();
}
