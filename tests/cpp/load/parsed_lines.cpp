// Lines of an input that is read again.
#include "load/parsed_lines.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <string>

#include "json/writer.hpp"
#include "load/folder.hpp"
#include "load/pieces.hpp"
#include "load/rewindable_input.hpp"
#include "model/records.hpp"

namespace comptroller::load {
namespace {

constexpr const char* text = R"({"id": "o-1", "created_at": "2026-01-31T12:00:00Z", "status": "NEW"}

{"id": "o-2", "created_at": "2026-01-31T12:00:00.5Z", "status": "NEW", "source_amount": "-0.50", "source": {"crypto": {"address": "bc1q"}, "profile": {}}, "metadata": {"b": "2", "a": ""}}
{"id": "o-3", "other": 1}
)";

// A text that the loading thread must read.
class Rows : public TextInput {
 public:
  using TextInput::TextInput;
  bool is_for_loading_thread() const override { return true; }
};

// The lines of the input as texts, and the unknown members.
std::string lines_of(Input& input) {
  std::string all;
  ParsedLines<Orchestration> parser(input, false);
  std::vector<ParsedLine<Orchestration>> lines;
  while (!(lines = parser.next(std::move(lines), [] {})).empty()) {
    for (const ParsedLine<Orchestration>& line : lines) {
      all += std::to_string(line.line) + "/" + std::to_string(line.size) + " ";
      if (line.record) all += json::to_text(*line.record);
      if (line.refusal) all += line.refusal->detail();
      all += "\n";
    }
  }
  CHECK(parser.next({}, [] {}).empty());
  for (const auto& [name, times] : parser.unknown_members()) {
    all += name + " " + std::to_string(times);
  }
  return all;
}

TEST_CASE("a stream that was read to its end begins again at its first line") {
  const Folder folder;
  std::string many;
  for (int part = 0; part < 40'000; ++part) many += text;  // more than stays in memory
  for (const std::string& content : {std::string(), std::string(text), many}) {
    CAPTURE(content.size());
    TextInput input(content, 100'000);
    RewindableInput again(input, folder.path(), {});
    CHECK_FALSE(again.size());
    const std::string expected = lines_of(again);
    CHECK(again.size() == content.size());
    for (int time = 0; time < 2; ++time) {
      again.rewind();
      CHECK(lines_of(again) == expected);
      CHECK(again.bytes_read() == content.size());
    }
  }
}

TEST_CASE("rows that only the loading thread can read are kept for other threads") {
  const Folder folder;
  Rows input(text);
  RewindableInput again(input, folder.path(), {});
  CHECK(again.is_for_loading_thread());
  const std::string expected = lines_of(again);
  again.rewind();
  CHECK_FALSE(again.is_for_loading_thread());
  CHECK(lines_of(again) == expected);
}

TEST_CASE("a file begins again at its first line") {
  const Folder folder;
  std::ofstream(folder / "lines") << text;
  FileInput input(folder / "lines");
  RewindableInput again(input, folder / "missing", {});
  CHECK(again.size() == std::string_view(text).size());
  const std::string expected = lines_of(again);
  again.rewind();
  CHECK(lines_of(again) == expected);
  CHECK(again.bytes_read() == std::string_view(text).size());
}

TEST_CASE("a folder without files is a failure of the system") {
  const Folder folder;
  RepeatedInput input("", text, 40'000, "");
  RewindableInput again(input, folder / "missing", {});
  CHECK_THROWS_WITH(lines_of(again), doctest::Contains("a temporary file in"));
}

TEST_CASE("a failure of the input ends its lines") {
  class Failing : public TextInput {
   public:
    using TextInput::TextInput;
    std::size_t read(char* out, std::size_t capacity) override {
      const std::size_t size = TextInput::read(out, capacity);
      if (size == 0) throw Error(Code::unavailable, "the disk is gone");
      return size;
    }
  };
  std::string many;
  for (int part = 0; part < 40'000; ++part) many += text;
  Failing input(many);
  ParsedLines<Orchestration> parser(input, false);
  CHECK_FALSE(parser.next({}, [] {}).empty());
  CHECK_THROWS_WITH(
      [&] {
        while (!parser.next({}, [] {}).empty()) {
        }
      }(),
      "the disk is gone");
}

}  // namespace
}  // namespace comptroller::load
