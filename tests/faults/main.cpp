#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "injection.hpp"

int main(int count, char** arguments) {
  comptroller::faults::replace_allocator_of_sqlite();
  return doctest::Context(count, arguments).run();
}
