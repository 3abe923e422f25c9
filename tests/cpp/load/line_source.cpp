#include "load/line_source.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <string>

#include "json/writer.hpp"
#include "load/folder.hpp"
#include "load/pieces.hpp"

namespace comptroller::load {
namespace {

constexpr const char* text = R"({"id": "o-1", "created_at": "2026-01-31T12:00:00Z", "status": "NEW"}

{"id": "o-2", "created_at": "2026-01-31T12:00:00.5Z", "status": "NEW", "source_amount": "-0.50", "source": {"crypto": {"address": "bc1q"}, "profile": {}}, "metadata": {"b": "2", "a": ""}}
{"id": "o-3", "other": 1}
)";

void nothing() {}

// The lines from here to the end, as texts.
std::string rest(LineSource<Orchestration>& source) {
  std::string all;
  std::vector<ParsedLine<Orchestration>> lines;
  while (!(lines = source.next(std::move(lines), nothing)).empty()) {
    for (const ParsedLine<Orchestration>& line : lines) {
      all += std::to_string(line.line) + "/" + std::to_string(line.size) + " ";
      if (line.record) all += json::to_text(*line.record);
      if (line.refusal) all += line.refusal->detail();
      all += "\n";
    }
  }
  return all;
}

std::string parsed() {
  const Folder folder;
  TextInput input(text);
  LineSource<Orchestration> source(input, folder.path());
  return rest(source);
}

TEST_CASE("lines that were parsed before are the lines of the parser") {
  const Folder folder;
  TextInput input(text);
  LineSource<Orchestration> source(input, folder.path());
  CHECK_FALSE(source.size());
  source.parse_rest(nothing);
  CHECK(source.size() == std::string_view(text).size());
  CHECK(rest(source) == parsed());
  CHECK(source.unknown_members().size() == 1);
}

TEST_CASE("lines of many batches are kept in order, from any of them") {
  const Folder folder;
  std::string many;
  for (int line = 0; line < 9000; ++line) many += text;
  TextInput all_of_it(many);
  LineSource<Orchestration> expected(all_of_it, folder.path());
  const std::string lines = rest(expected);
  TextInput input(many);
  LineSource<Orchestration> source(input, folder.path());
  auto first = source.next({}, nothing);
  source.keep(first);
  source.next({}, nothing);
  source.parse_rest(nothing);
  const std::string remaining = rest(source);
  CHECK(remaining.size() < lines.size());
  CHECK(lines.ends_with(remaining));
  source.rewind();
  CHECK(rest(source) == lines);
}

TEST_CASE("a stream that is kept begins again at its first line") {
  const Folder folder;
  TextInput input(text);
  LineSource<Orchestration> source(input, folder.path());
  auto first = source.next({}, nothing);
  source.keep(first);
  const std::string remaining = rest(source);
  source.rewind();
  CHECK(rest(source) == parsed());
  source.rewind();
  CHECK(rest(source) == parsed());
  CHECK(remaining.empty());
}

TEST_CASE("a file begins again at its first line, and counts its unknown members once") {
  const Folder folder;
  std::ofstream(folder / "lines") << text;
  FileInput input(folder / "lines");
  LineSource<Orchestration> source(input, folder.path());
  source.parse_rest(nothing);
  source.rewind();
  CHECK(rest(source) == parsed());
  CHECK(source.unknown_members().begin()->second == 1);
}

TEST_CASE("a folder without files is a failure of the system") {
  const Folder folder;
  TextInput input(text);
  LineSource<Orchestration> source(input, folder / "missing");
  CHECK_THROWS_WITH(source.parse_rest(nothing), doctest::Contains("a temporary file in"));
}

}  // namespace
}  // namespace comptroller::load
