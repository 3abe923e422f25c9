#include "store/merge.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>

#include "model/text.hpp"
#include "store/sql.hpp"

namespace comptroller::store {
namespace {

TEST_CASE("a merge gives the sorted positions of all streams without duplicates") {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    const Order order = round % 2 == 0 ? Order::desc : Order::asc;
    const auto before = [order](const Position& left, const Position& right) {
      return order == Order::desc ? right < left : left < right;
    };
    std::vector<std::vector<Position>> streams(random() % 20);
    std::set<Position> all;
    for (auto& stream : streams) {
      for (auto count = random() % 30; count > 0; --count) {
        stream.push_back(
            {static_cast<std::int64_t>(random() % 20), static_cast<std::int64_t>(random() % 20)});
      }
      std::ranges::sort(stream, before);
      all.insert(stream.begin(), stream.end());
    }
    std::int64_t read = 0;
    Merge merge(order, streams.size(),
                [&](std::size_t number, const std::optional<Position>& after, std::int64_t limit,
                    std::vector<Candidate>& out) {
                  for (const Position& position : streams[number]) {
                    if (after && !before(*after, position)) continue;
                    if (limit-- == 0) break;
                    out.push_back({position, position.key % 2 == 0});
                    ++read;
                  }
                });
    std::vector<Position> expected(all.begin(), all.end());
    std::ranges::sort(expected, before);
    std::vector<Position> merged;
    while (const auto row = merge.next()) {
      CHECK(row->matches == (row->position.key % 2 == 0));
      merged.push_back(row->position);
    }
    CHECK(merged == expected);
  }
}

TEST_CASE("a merge reads about as many rows as it returns") {
  constexpr std::int64_t length = 10'000;
  std::int64_t read = 0;
  Merge merge(Order::asc, 100,
              [&](std::size_t number, const std::optional<Position>& after, std::int64_t limit,
                  std::vector<Candidate>& out) {
                std::int64_t next =
                    after ? after->created_at + 100 : static_cast<std::int64_t>(number);
                for (; limit > 0 && next < length * 100; --limit, next += 100, ++read) {
                  out.push_back({{next, next}});
                }
              });
  for (std::int64_t place = 0; place < 1000; ++place) CHECK(merge.next()->position.key == place);
  CHECK(read <= 100 + 2 * 1000 + 100);
}

TEST_CASE("the range of a prefix has exactly the texts with the prefix") {
  const std::string last_character = "\xf4\x8f\xbf\xbf";
  for (const std::string prefix :
       {"a", "az", "\x7f", "\xed\x9f\xbf", "\xf0\x9f\x92\xb0", "\xf4\x8f\xbf\xbf"}) {
    CAPTURE(prefix);
    const std::string last = last_with_prefix(prefix, 3);
    CHECK(prefix < last);
    CHECK(prefix + "zzz" < last);
    CHECK(prefix + last_character + last_character <= last);
    CHECK(last.starts_with(prefix));  // so that it precedes texts that follow the prefix
    CHECK(count_characters(last));
  }
}

TEST_CASE("the text of a condition depends on the number of values rounded up to a power of two") {
  const auto text = [](std::size_t count) {
    return any_of("x", std::vector<Value>(count, Value::of(1))).text;
  };
  CHECK(text(0) == "false");
  CHECK(text(1) == "x = ?");
  CHECK(text(3) == "x IN (?, ?, ?, ?)");
  CHECK(text(65) == text(100));
  CHECK(any_of("x", {Value::of(1), Value::of(2), Value::of(3)}).values.size() == 4);
}

}  // namespace
}  // namespace comptroller::store
