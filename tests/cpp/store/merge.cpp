#include "store/merge.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>
#include <span>
#include <tuple>

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
                [&](const StreamBatch& batch, std::int64_t limit, std::vector<Candidate>& out) {
                  for (const Position& position : streams[batch.stream]) {
                    if (batch.after && !before(*batch.after, position)) continue;
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

// 100 streams of positions that take turns.
constexpr std::int64_t streams_in_turn = 100;

std::int64_t append_in_turn(const StreamBatch& batch, std::int64_t limit,
                            std::vector<Candidate>& out) {
  auto next = batch.after ? batch.after->created_at + streams_in_turn
                          : static_cast<std::int64_t>(batch.stream);
  for (std::int64_t row = 0; row < limit; ++row, next += streams_in_turn) {
    out.push_back({{next, next}});
  }
  return limit;
}

TEST_CASE("a merge reads about as many rows as it returns") {
  std::int64_t read = 0;
  Merge merge(Order::asc, streams_in_turn,
              [&](const StreamBatch& batch, std::int64_t limit, std::vector<Candidate>& out) {
                read += append_in_turn(batch, limit, out);
              });
  for (std::int64_t place = 0; place < 1000; ++place) CHECK(merge.next()->position.key == place);
  CHECK(read <= 100 + 2 * 1000 + 100);
}

TEST_CASE("a merge announces the batches that it fetches next, many at once") {
  std::set<std::tuple<std::size_t, std::int64_t, std::int64_t>> announced;
  const auto name = [](const StreamBatch& batch, std::int64_t limit) {
    return std::tuple(batch.stream, batch.after ? batch.after->key : -1, limit);
  };
  std::int64_t read = 0;
  int announcements = 0;
  Merge merge(
      Order::asc, streams_in_turn,
      [&](const StreamBatch& batch, std::int64_t limit, std::vector<Candidate>& out) {
        CHECK(announced.contains(name(batch, limit)));
        append_in_turn(batch, limit, out);
      },
      2,
      [&](std::span<const StreamBatch> batches, std::int64_t limit) {
        ++announcements;
        for (const StreamBatch& batch : batches) {
          CHECK(announced.insert(name(batch, limit)).second);
          read += limit;
        }
      });
  for (std::int64_t place = 0; place < 5000; ++place) CHECK(merge.next()->position.key == place);
  CHECK(announcements <= 7);  // of 2, 4, 8, 16, 32 and 64 rows
  CHECK(read <= 4 * 5000);
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
