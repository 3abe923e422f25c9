// How long a load waits while another write holds the writer.
#include <doctest/doctest.h>

#include <chrono>
#include <fstream>
#include <future>
#include <string>
#include <thread>

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

}  // namespace
}  // namespace comptroller::load
