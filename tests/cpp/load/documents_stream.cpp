#include <doctest/doctest.h>
#include <simdjson.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "load/rewindable_input.hpp"
#include "load/splitting.hpp"

namespace comptroller::load {
namespace {

// Generates JSON-like files of each format with short documents.
class FileGenerator {
 public:
  explicit FileGenerator(std::uint32_t seed) : random_(seed) {}

  std::string file() { return file(pick(5)); }

  // format 0: lines, 1: an array, 2: answers, 3: an array of answers, 4: objects on several lines.
  std::string file(unsigned format) {
    std::string text;
    if (format == 0) {
      for (unsigned count = pick(12); count > 0; --count) text += line();
    } else if (format == 1) {
      text = gap() + array();
    } else if (format == 3) {
      text = "[" + gap() + answer();
      for (unsigned count = pick(3); count > 0; --count) text += "," + gap() + answer();
      text += "]";
    } else if (format == 4) {
      for (unsigned count = 1 + pick(4); count > 0; --count) {
        text += "{\n \"id\":" + value(2) + "\n}" + gap();
      }
    } else {
      for (unsigned count = 1 + pick(4); count > 0; --count) text += answer() + gap();
    }
    for (unsigned count = pick(8) == 0 ? 1 + pick(3) : 0; count > 0; --count) corrupt(text);
    return text;
  }

 private:
  unsigned pick(unsigned below) { return static_cast<unsigned>(random_() % below); }
  std::string_view one_of(const std::vector<std::string_view>& words) {
    return words[pick(static_cast<unsigned>(words.size()))];
  }
  std::string gap() { return std::string(one_of({"", "", " ", "\n", "\r\n", "\t", "\n\n"})); }
  std::string line() {
    if (pick(5) == 0) return std::string(one_of({"\n", " \n", "\t\r\n", "\r\n"}));
    return "{\"id\":" + value(2) + "}" + std::string(one_of({"\n", "\r\n"}));
  }
  std::string value(unsigned depth) {
    if (depth == 0 || pick(3) == 0) {
      return std::string(one_of({"1", "null", "\"\"", "\"a\\\"]\"", "\"\\\\\"", "\"[{,:\"",
                                 "-2.5e1", "\"long enough\"", "\"\\u00e9\\n\"", "\"\xC3\xA9\""}));
    }
    const bool is_list = pick(2) == 0;
    std::string text = is_list ? "[" : "{";
    for (unsigned count = pick(3); count > 0; --count) {
      if (text.size() > 1) text += "," + std::string(one_of({"", " ", "\n"}));
      text += (is_list ? "" : "\"n\":") + value(depth - 1);
    }
    return text + (is_list ? "]" : "}");
  }
  std::string array() {
    std::string text = "[" + gap();
    for (unsigned count = pick(8); count > 0; --count) {
      if (text.find_first_not_of("[ \t\r\n") != std::string::npos) text += "," + gap();
      text += value(2) + gap();
    }
    return text + "]" + gap();
  }
  std::string answer() {
    std::string text = "{" + gap() + "\"next_page_cursor\":" + gap() + "\"]\"," + gap();
    if (pick(2) == 0) text += "\"orchestrations\":" + array() + ",";
    return text + "\"items\":" + gap() + array() + "}";
  }
  void corrupt(std::string& text) {
    if (text.empty()) return;
    const unsigned at = pick(static_cast<unsigned>(text.size()));
    if (pick(2) == 0) {
      text.erase(at, 1);
    } else {
      text.insert(at, one_of({"\"", "]", "}", "{", "[", ",", ":", "\\", "\n", "x", "\xFF"}));
    }
  }

  std::mt19937 random_;
};

TEST_CASE("the result does not depend on the sizes of reads and of the window") {
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    const std::string file = FileGenerator(seed).file();
    CAPTURE(seed);
    CAPTURE(file);
    const std::vector<std::string> whole = split(file);
    // Every document is shorter than this, unless the file was corrupted.
    const std::size_t limit = 160;
    const std::vector<std::string> limited =
        split(file, std::string_view::npos, {limit, 1U << 16U});
    for (const std::size_t piece : {1, 2, 3, 7, 4096}) {
      CHECK(split(file, piece) == whole);
      for (const std::size_t window : {0, 170, 211, 300, 1000}) {
        CHECK(split(file, piece, {limit, window}) == limited);
      }
    }
  }
}

bool is_json(std::string_view text) {
  simdjson::dom::parser parser;
  return parser.parse(text.data(), text.size()).error() == simdjson::SUCCESS;
}

TEST_CASE("an array is accepted completely exactly if all of it is JSON") {
  std::size_t faulty = 0;
  for (std::uint32_t seed = 0; seed < 3000; ++seed) {
    const std::string file = FileGenerator(seed).file(1);
    const std::size_t first = file.find_first_not_of(" \t\r\n");
    if (first == std::string::npos || file[first] != '[') continue;
    CAPTURE(file);
    TextInput input(file);
    Documents documents(input);
    bool is_taken = true;
    for (auto batch = documents.next(); !batch.empty(); batch = documents.next()) {
      for (const Document& document : batch) {
        is_taken = is_taken && !document.refusal && is_json(document.text);
      }
    }
    CHECK(is_taken == is_json(file));
    faulty += is_taken ? 0 : 1;
  }
  CHECK(faulty > 100);
}

// Counts documents, and checks that the texts of each batch are in one bounded window.
struct DocumentCounts {
  std::size_t documents = 0;
  std::size_t refusals = 0;
};

DocumentCounts run_through(Input& input, std::uint64_t expected_bytes) {
  DocumentCounts counts;
  RewindableInput counted(input, "", {.may_rewind = false});
  Documents documents(counted);
  for (auto batch = documents.next(); !batch.empty(); batch = documents.next()) {
    const char* const begin = documents.window().get();
    CHECK(batch.size() <= std::size_t{1} << 14U);
    counts.documents += batch.size();
    for (const Document& document : batch) {
      counts.refusals += document.refusal ? 1 : 0;
      if (document.text.empty()) continue;
      CHECK(document.text.data() >= begin);
      CHECK(document.text.data() + document.text.size() <= begin + (std::size_t{5} << 18U));
    }
  }
  CHECK(counted.bytes_read() == expected_bytes);
  return counts;
}

TEST_CASE("memory is bounded for files, lines and elements of any size") {
  constexpr std::size_t many = 120'000;
  const std::string record =
      R"({"id":"0198f3a2-7c31-7d5e-9b20-4f1a6c8e2d77","created_at":"2026-01-31T23:59:59Z"},)" +
      std::string(20, ' ');
  SUBCASE("an array of 12 MB in one line") {
    RepeatedInput input("[", record, many, "{}]");
    const DocumentCounts counts = run_through(input, many * record.size() + 4);
    CHECK(counts.documents == many + 1);
    CHECK(counts.refusals == 0);
  }
  SUBCASE("an element of 12 MB") {
    RepeatedInput input("[{},[", record, many, "{}],{}]");
    const DocumentCounts counts = run_through(input, many * record.size() + 12);
    CHECK(counts.documents == 3);
    CHECK(counts.refusals == 1);
  }
  SUBCASE("a string of 12 MB") {
    RepeatedInput input("[\"", std::string(100, 'x'), many, "\",{}]");
    const DocumentCounts counts = run_through(input, many * 100 + 7);
    CHECK(counts.documents == 2);
    CHECK(counts.refusals == 1);
  }
  SUBCASE("a skipped member of 12 MB") {
    RepeatedInput input("{\"orchestrations\":[", record, many, "{}],\"items\":[{}]}");
    const DocumentCounts counts = run_through(input, many * record.size() + 36);
    CHECK(counts.documents == 1);
    CHECK(counts.refusals == 0);
  }
  SUBCASE("a line of 12 MB") {
    RepeatedInput input("{}\n", record, many, "\n{}\n");
    const DocumentCounts counts = run_through(input, many * record.size() + 7);
    CHECK(counts.documents == 3);
    CHECK(counts.refusals == 1);
  }
  SUBCASE("1,200,000 blank lines") {
    RepeatedInput input("{}", "\n", 10 * many, "");
    const DocumentCounts counts = run_through(input, 10 * many + 2);
    CHECK(counts.documents == 10 * many);
    CHECK(counts.refusals == 0);
  }
  SUBCASE("documents of the maximum size") {
    const std::string largest = "{" + std::string(json::max_document_size - 2, ' ') + "}";
    RepeatedInput input("", largest + "\r\n", 20, largest);
    const DocumentCounts counts = run_through(input, 20 * (largest.size() + 2) + largest.size());
    CHECK(counts.documents == 21);
    CHECK(counts.refusals == 0);
  }
}

class FailingInput : public Input {
 public:
  std::size_t read(char*, std::size_t) override {
    throw Error(Code::unavailable, "the disk is gone");
  }
};

TEST_CASE("exceptions of the input are thrown to the caller") {
  FailingInput input;
  Documents documents(input);
  CHECK_THROWS_WITH(documents.next(), "the disk is gone");
}

}  // namespace
}  // namespace comptroller::load
