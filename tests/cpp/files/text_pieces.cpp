#include "files/text_pieces.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <stdexcept>
#include <string>

namespace comptroller::files {
namespace {

TEST_CASE("pieces are returned in the order of their start, whatever ends first") {
  TextPieces pieces(2);
  std::promise<void> second_ended;
  pieces.start([&](std::string& out) {
    second_ended.get_future().wait();
    out = "first";
    return 1;
  });
  CHECK_FALSE(pieces.is_full());
  pieces.start([&](std::string& out) {
    out = "second";
    second_ended.set_value();
    return 2;
  });
  CHECK(pieces.is_full());
  const auto first = pieces.next();
  REQUIRE(first);
  CHECK(first->text == "first");
  CHECK(first->rows == 1);
  CHECK_FALSE(pieces.is_full());
  CHECK(pieces.next()->text == "second");
  CHECK_FALSE(pieces.next());
}

TEST_CASE("a formatter gets the memory of a destroyed piece") {
  TextPieces pieces(1);
  constexpr std::size_t size = 100'000;
  const char* memory = nullptr;
  for (int round = 0; round < 2; ++round) {
    pieces.start([&](std::string& out) {
      CHECK((out.data() == memory) == (round == 1));
      out.assign(size, 'x');
      memory = out.data();
      return 1;
    });
    CHECK(pieces.next()->text.size() == size);
  }
}

TEST_CASE("the exception of a formatter is thrown in its turn") {
  TextPieces pieces(2);
  pieces.start([](std::string&) { return 1; });
  pieces.start([](std::string&) -> std::int64_t { throw std::runtime_error("damaged"); });
  CHECK(pieces.next());
  CHECK_THROWS_WITH(pieces.next(), "damaged");
  CHECK_FALSE(pieces.next());
}

TEST_CASE("a wait for a piece can be ended; the piece is then still the next one") {
  std::promise<void> may_end;
  int calls = 0;
  TextPieces pieces(1, [&] {
    if (++calls == 1) throw std::runtime_error("interrupted");
    if (calls == 2) may_end.set_value();
  });
  pieces.start([&](std::string&) {
    may_end.get_future().wait();
    return 1;
  });
  CHECK_THROWS_WITH(pieces.next(), "interrupted");
  CHECK(pieces.next()->rows == 1);
  CHECK(calls >= 2);
}

TEST_CASE("pieces that nobody takes are awaited") {
  std::atomic<int> ended = 0;
  {
    TextPieces pieces(3);
    for (int piece = 0; piece < 3; ++piece) pieces.start([&](std::string&) { return ++ended; });
  }
  CHECK(ended == 3);
}

}  // namespace
}  // namespace comptroller::files
