// How long a load waits while another write holds the writer.
#include <doctest/doctest.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "load/folder.hpp"
#include "load/loader.hpp"
#include "service/service_fixture.hpp"

namespace comptroller::load {
namespace {

using std::chrono_literals::operator""ms;
constexpr auto max_wait = 100ms;

// Text that cannot be read again.
class StreamedText : public Input {
 public:
  explicit StreamedText(std::string text) : text_(std::move(text)) {}
  std::size_t read(char* out, std::size_t capacity) override {
    const std::size_t count = text_.copy(out, capacity, place_);
    place_ += count;
    return count;
  }

 private:
  std::string text_;
  std::size_t place_ = 0;
};

// Loads an input while another write holds the writer for `hold`; returns how many rows were new.
std::uint64_t load_beside_write(service::ServiceFixture& fixture, Input& input,
                                std::chrono::milliseconds hold) {
  std::promise<void> has_begun;
  std::jthread other([&] {
    fixture.service.database()->write_bulk([&](db::Connection&) {
      has_begun.set_value();
      std::this_thread::sleep_for(hold);
      return false;
    });
  });
  has_begun.get_future().wait();
  LoadOptions options;
  options.kind = "identities";
  return load(fixture.service, fixture.provider, input, options).inserted;
}

TEST_CASE("a load that cannot read its input again waits longer for the writer than a file") {
  service::ServiceFixture fixture(
      db::sqlite::open("", {.is_temporary = true, .max_wait = max_wait}));
  const std::string line =
      R"({"id":"alice","customer_id":"acme","created_at":"2026-01-31T12:00:00Z"})";
  const Folder folder;
  const std::string path = folder / "identities.ndjson";
  std::ofstream(path) << line;
  FileInput file(path);
  CHECK_THROWS_WITH_AS(load_beside_write(fixture, file, 3 * max_wait), doctest::Contains("busy"),
                       Error);
  StreamedText stream(line);
  CHECK(load_beside_write(fixture, stream, 3 * max_wait) == 1);
}

// Lines as of a file. Calls `at_end` when a thread that parses reads their end for the first time.
class Lines : public Input {
 public:
  Lines(std::string text, std::function<void()> at_end)
      : text_(std::move(text)), at_end_(std::move(at_end)) {}
  std::size_t read(char* out, std::size_t capacity) override {
    const std::size_t count = text_.copy(out, capacity, place_);
    place_ += count;
    if (count == 0 && at_end_) std::exchange(at_end_, nullptr)();
    return count;
  }
  std::optional<std::uint64_t> size() const override { return text_.size(); }
  void rewind() override { place_ = 0; }

 private:
  std::string text_;
  std::function<void()> at_end_;
  std::size_t place_ = 0;
};

TEST_CASE("a load that stores all lines or none reads them before it takes the writer") {
  service::ServiceFixture fixture(
      db::sqlite::open("", {.is_temporary = true, .max_wait = max_wait}));
  constexpr int count = 100'000;  // more than are in memory and are parsed ahead
  std::string text;
  for (int number = 0; number < count; ++number) {
    text += R"({"id":"i-)" + std::to_string(number) +
            R"(","customer_id":"acme","created_at":"2026-01-31T12:00:00Z"})" + "\n";
  }
  bool has_written = false;
  Lines input(std::move(text), [&] {
    fixture.service.database()->write_bulk([&](db::Connection&) { return has_written = true; });
  });
  LoadOptions options;
  options.kind = "identities";
  CHECK(load(fixture.service, fixture.provider, input, options).inserted == count);
  CHECK(has_written);
}

}  // namespace
}  // namespace comptroller::load
