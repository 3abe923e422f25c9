#include "load/line_source.hpp"

#include <doctest/doctest.h>

#include <string>

#include "load/pieces.hpp"
#include "model/records/rewards.hpp"

namespace comptroller::load {
namespace {

constexpr std::size_t large = 100'000;
constexpr std::size_t count = 300;

TEST_CASE("large lines are fetched and taken in parts of some 8 MiB, in order") {
  const std::string line =
      R"({"address_id":"01900000-0000-7000-8000-0000000000aa","balance":"1","at":"2026-01-31T12:00:00Z",)"
      R"("padding":")" +
      std::string(large, 'x') + "\"}\n";
  RepeatedInput input("", line, count, "");
  RewindableInput rewindable(input, "/tmp", {false, false, true});
  LineSource<Balance> source(rewindable, false, {}, [] {});
  constexpr std::size_t max_bytes = LineSource<Balance>::max_bytes;
  std::uint64_t lines = 0;
  for (source.fetch(count); !source.is_at_end(); source.fetch(count)) {
    std::size_t fetched = 0;
    while (source.has_lines()) {
      std::size_t taken = 0;
      for (const ParsedLine<Balance>& each : source.take(count)) {
        CHECK(each.line == ++lines);
        taken += each.size;
      }
      CHECK(taken < max_bytes + line.size());
      fetched += taken;
    }
    CHECK(fetched < 2 * max_bytes);
  }
  CHECK(lines == count);
}

}  // namespace
}  // namespace comptroller::load
