#include "load/documents.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "load/splitting.hpp"

namespace comptroller::load {
namespace {

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

struct Case {
  std::string promise;
  std::string_view file;
  std::vector<std::string> documents;
};

void check(const std::vector<Case>& cases) {
  for (const Case& row : cases) {
    CAPTURE(row.promise);
    for (const std::size_t piece : {1, 2, 3, 7, 4096}) {
      CAPTURE(piece);
      CHECK(joined(split(row.file, piece)) == joined(row.documents));
    }
  }
}

TEST_CASE("NDJSON: every line is a document with its line number") {
  check({
      {"no bytes, no documents", "", {}},
      {"a byte order mark alone", "\xEF\xBB\xBF", {}},
      {"one line", "{\"a\":1}\n", {"1 {\"a\":1}"}},
      {"the last line may lack its end", "{}\n{\"a\":1}", {"1 {}", "2 {\"a\":1}"}},
      {"CR LF", "{}\r\n{}\r\n", {"1 {}", "2 {}"}},
      {"a last CR", "{}\r", {"1 {}"}},
      {"blank lines are told",
       "\n{}\n \t\r\n\n{}\n",
       {"1 blank", "2 {}", "3 blank", "4 blank", "5 {}"}},
      {"only blank lines", "\n \n", {"1 blank", "2 blank"}},
      {"a blank last line without its end", "{}\n ", {"1 {}", "2 blank"}},
      {"a byte order mark is passed over", "\xEF\xBB\xBF{}\n", {"1 {}"}},
      {"but once, and at the beginning", "{}\n\xEF\xBB\xBF{}\n", {"1 {}", "2 \xEF\xBB\xBF{}"}},
      {"white space around stays", "  {} \n", {"1   {} "}},
      {"any line is left to its reader", "junk\n1\n[2]\n", {"1 junk", "2 1", "3 [2]"}},
      {"a record is no answer", "{\"id\":\"items\"}\n", {"1 {\"id\":\"items\"}"}},
      {"nor is what is cut short", "{\"item", {"1 {\"item"}},
      {"nor an empty object", "{}", {"1 {}"}},
      {"U+0000 is a byte like others",
       std::string_view("\0\n{}", 4),
       {std::string("1 \0", 3), "2 {}"}},
  });
}

TEST_CASE("an array: every element is a document with its line and number") {
  check({
      {"none", "[]", {}},
      {"none, with space", " [ \n ] \n", {}},
      {"one line", "[{\"a\":1},{\"b\":2}]", {"1.1 {\"a\":1}", "1.2 {\"b\":2}"}},
      {"an element a line", "[\n{},\r\n{}\n]\n", {"2.1 {}", "3.2 {}"}},
      {"pretty-printed",
       "[\n  {\n    \"a\": 1\n  },\n  {}\n]",
       {"2.1 {\n    \"a\": 1\n  }", "5.2 {}"}},
      {"after blank lines and a byte order mark", "\xEF\xBB\xBF\n\n[{}]", {"3.1 {}"}},
      {"nested", "[{\"a\":[{\"b\":[]}]},[[]]]", {"1.1 {\"a\":[{\"b\":[]}]}", "1.2 [[]]"}},
      {"brackets in strings do not count", "[{\"a\":\"]}[{,\"}]", {"1.1 {\"a\":\"]}[{,\"}"}},
      {"nor do quotes behind backslashes",
       R"([{"a":"\"]\\"},{"\\\\":"\\\""}])",
       {R"(1.1 {"a":"\"]\\"})", R"(1.2 {"\\\\":"\\\""})"}},
      {"elements of any kind are left to the reader",
       "[1, null,\"a,]\",-1e5 ,bad,{}]",
       {"1.1 1", "1.2 null", "1.3 \"a,]\"", "1.4 -1e5", "1.5 bad", "1.6 {}"}},
      {"control characters in strings too", "[\"a\tb\r\"]", {"1.1 \"a\tb\r\""}},
  });
}

TEST_CASE("objects on several lines, one after another") {
  check({
      {"as jq prints them",
       "{\n  \"a\": 1\n}\n{\n  \"b\": [\n    2\n  ]\n}\n",
       {"1.1 {\n  \"a\": 1\n}", "4.2 {\n  \"b\": [\n    2\n  ]\n}"}},
      {"the first line has members",
       "\n{\"a\": 1,\r\n \"b\": \"}\"}\r\n {}{}",
       {"2.1 {\"a\": 1,\r\n \"b\": \"}\"}", "4.2 {}", "4.3 {}"}},
      {"a comma between them",
       "{\n\"a\":1\n},\n{}",
       {"1.1 {\n\"a\":1\n}",
        "3 !malformed-json: another object or the end of the file is expected after item 1, not "
        "','; "
        "nothing after it is read"}},
      {"the last one is cut short",
       "{\n\"a\":1\n}\n{\n",
       {"1.1 {\n\"a\":1\n}", "4.2 !malformed-json: the file ends inside this item"}},
      {"but a first line that was cut short is a line",
       "{\"a\":1,\n{\"b\":1}\n",
       {"1 {\"a\":1,", "2 {\"b\":1}"}},
  });
}

TEST_CASE("an array of saved answers") {
  check({
      {"two pages",
       R"([{"items":[{"a":1},{}],"next_page_cursor":"x"}, {"next_page_cursor":"","items":[2]}])",
       {"1.1 {\"a\":1}", "1.2 {}", "1.3 2"}},
      {"no pages' items", R"([{"items":[]},{"items":[]}])", {}},
      {"a record among pages",
       R"([{"items":[1]},{"id":"a"},{"items":[3]}])",
       {"1.1 1", "1.2 {\"id\":\"a\"}", "1.3 3"}},
      {"a page in the items of a page", R"([{"items":[{"items":[1]}]}])", {"1.1 {\"items\":[1]}"}},
      {"a page without items",
       R"([{"next_page_cursor":""},{"items":[1]}])",
       {"1 !invalid-request: items: is required in an answer", "1.1 1"}},
      {"cut short",
       R"([{"items":[1])",
       {"1.1 1", "1 !malformed-json: the file ends inside its answer, after item 1"}},
      {"cut short between pages",
       R"([{"items":[1]},)",
       {"1.1 1", "1 !malformed-json: the file ends inside its array, after item 1"}},
  });
}

TEST_CASE("another encoding is named once") {
  using namespace std::string_view_literals;
  check({
      {"UTF-16",
       "\xFF\xFE{\0}\0\n\0"sv,
       {"1 !malformed-json: the text is UTF-16; convert it to UTF-8, for example with "
        "iconv -f UTF-16 -t UTF-8"}},
      {"gzip",
       "\x1F\x8B\x08\0\n\n"sv,
       {"1 !malformed-json: the file is compressed with gzip; decompress it first"}},
  });
}

TEST_CASE("saved answers: the elements of their items are documents") {
  check({
      {"one answer",
       R"({"items":[{"a":1},{}],"next_page_cursor":""})",
       {"1.1 {\"a\":1}", "1.2 {}"}},
      {"no items", R"({"items":[],"next_page_cursor":"more"})", {}},
      {"one a line", "{\"items\":[{}]}\n{\"items\":[1]}\n", {"1.1 {}", "2.2 1"}},
      {"without a line end between",
       R"({"items":[1]} {"items":[2]}{"items":[3]})",
       {"1.1 1", "1.2 2", "1.3 3"}},
      {"pretty-printed",
       "{\n \"items\" : [\n  {}\n ],\n \"next_page_cursor\" : \"a\"\n}\n\n{\n\"items\":[2]}",
       {"3.1 {}", "9.2 2"}},
      {"the cursor may come first", R"({"next_page_cursor":"]}","items":[1]})", {"1.1 1"}},
      {"the deprecated duplicate is passed over",
       R"({"orchestrations":[{"a":"]"}],"items":[{"a":"]"}]})",
       {"1.1 {\"a\":\"]\"}"}},
      {"and so is whatever else",
       R"({"items":[1],"x":{"items":[7]},"y":null,"z":-1.5e3,"items2":[8]})",
       {"1.1 1"}},
      {"names that only look like it",
       R"({"next_page_cursor":"","\"items":[7],"items":[1]})",
       {"1.1 1"}},
  });
}

TEST_CASE("an invalid array or answer is refused once, at its place, and reading ends") {
  const std::string end = "; nothing after it is read";
  check({
      {"no comma",
       "[{}\n {}, {}]",
       {"1.1 {}", "2 !malformed-json: a comma or ']' is expected after item 1, not '{'" + end}},
      {"junk",
       "[{} x]",
       {"1.1 {}", "1 !malformed-json: a comma or ']' is expected after item 1, not 'x'" + end}},
      {"two commas",
       "[1,\n,2]",
       {"1.1 1", "2 !malformed-json: a value is expected after item 1, not ','" + end}},
      {"a comma at the beginning",
       "[,1]",
       {"1 !malformed-json: a value or ']' is expected before the first item, not ','" + end}},
      {"a comma at the end",
       "[1,]",
       {"1.1 1", "1 !malformed-json: a value is expected after item 1, not ']'" + end}},
      {"a colon",
       "[1:2]",
       {"1.1 1", "1 !malformed-json: a comma or ']' is expected after item 1, not ':'" + end}},
      {"the wrong end",
       "[1}",
       {"1.1 1", "1 !malformed-json: a comma or ']' is expected after item 1, not '}'" + end}},
      {"the wrong bracket",
       "[{},\n{\"a\":[1}\n,{}]",
       {"1.1 {}", "2.2 !malformed-json: '}' closes another kind of bracket" + end}},
      {"a string over two lines",
       "[{},\n{\n\"a\":\"b\n\"},{}]",
       {"1.1 {}", "3.2 !malformed-json: a string is not closed on its line" + end}},
      {"behind a backslash too",
       "[\"a\\\n\"]",
       {"1.1 !malformed-json: a string is not closed on its line" + end}},
      {"junk after it",
       "[1]\n\x80",
       {"1.1 1",
        "2 !malformed-json: the end of the file is expected after item 1, not byte 0x80" + end}},
      {"another array after it",
       "[]\n[]",
       {"2 !malformed-json: the end of the file is expected before the first item, not '['" + end}},
      {"a file that ends at once",
       "[",
       {"1 !malformed-json: the file ends inside its array, before the first item"}},
      {"that ends after an element",
       "[1\n,2 \n",
       {"1.1 1", "2.2 2", "3 !malformed-json: the file ends inside its array, after item 2"}},
      {"inside an element",
       "[1,\n{\"a\":\n2",
       {"1.1 1", "2.2 !malformed-json: the file ends inside this item"}},
      {"inside a word", "[nul", {"1.1 !malformed-json: the file ends inside this item"}},
      {"inside a string", "[\"a\\", {"1.1 !malformed-json: the file ends inside this item"}},
      {"an answer that ends early",
       "{\"items\":[1]",
       {"1.1 1", "1 !malformed-json: the file ends inside its answer, after item 1"}},
      {"in a member",
       "{\"items\":[1],\"x\":[{",
       {"1.1 1", "1 !malformed-json: the file ends inside its answer, after item 1"}},
      {"no name",
       "{\"items\":[],1}",
       {"1 !malformed-json: a member is expected before the first item, not '1'" + end}},
      {"no name again",
       "{\"items\":[],}",
       {"1 !malformed-json: a member is expected before the first item, not '}'" + end}},
      {"no colon",
       "{\"items\" [1]}",
       {"1 !malformed-json: a colon is expected before the first item, not '['" + end}},
      {"no value",
       "{\"items\":}",
       {"1 !malformed-json: a value is expected before the first item, not '}'" + end}},
      {"no comma between members",
       "{\"items\":[1] \"x\":2}",
       {"1.1 1", "1 !malformed-json: a comma or '}' is expected after item 1, not '\"'" + end}},
      {"a comma between answers",
       "{\"items\":[1]},\n{\"items\":[2]}",
       {"1.1 1",
        "1 !malformed-json: another answer or the end of the file is expected after item 1, not "
        "','" +
            end}},
      {"an array after answers",
       "{\"items\":[1]}\n[2]",
       {"1.1 1",
        "2 !malformed-json: another answer or the end of the file is expected after item 1, not "
        "'['" +
            end}},
      {"a broken member that is passed over",
       "{\"items\":[1],\"x\":{]}}",
       {"1.1 1", "1 !malformed-json: ']' closes another kind of bracket" + end}},
  });
}

TEST_CASE("an answer without items is refused, and the next one is read") {
  const std::string missing = "!invalid-request: items: is required in an answer";
  check({
      {"none", "{\"next_page_cursor\":\"\"}\n{\"items\":[1]}", {"1 " + missing, "2.1 1"}},
      {"only the deprecated ones", "{\n\"orchestrations\":[1]\n}", {"1 " + missing}},
      {"a record among answers",
       "{\"items\":[1]}\n{\"id\":\"a\"}\n{\"items\":[2]}",
       {"1.1 1", "2 " + missing, "3.2 2"}},
      {"an object",
       "{\"items\":{\"items\":[1]}}{\"items\":[2]}",
       {"1 !invalid-request: items: must be an array", "1.1 2"}},
      {"null", "{\"items\":null,\"x\":1}", {"1 !invalid-request: items: must be an array"}},
      {"twice",
       "{\"items\":[1],\n\"items\":[2]}\n{\"items\":[3]}",
       {"1.1 1", "2 !invalid-request: items: appears more than once in an answer", "3.2 3"}},
  });
}

TEST_CASE("documents beyond the limit are refused and skipped, in every format") {
  const Documents::Limits limits{16, 40};
  const std::string line_refusal = "!content-too-large: a line must have at most 1 MiB";
  const std::string item_refusal = "!content-too-large: an item must have at most 1 MiB";
  const auto of = [](std::size_t size) { return "{" + std::string(size - 2, ' ') + "}"; };
  for (const std::size_t piece : {1, 3, 7, 4096}) {
    CAPTURE(piece);
    using Outcome = std::vector<std::string>;
    CHECK(split(of(16) + "\r\n" + of(17) + "\n{}", piece, limits) ==
          Outcome{"1 " + of(16), "2 " + line_refusal, "3 {}"});
    CHECK(split(of(16) + "\r", piece, limits) == Outcome{"1 " + of(16)});
    CHECK(split(of(17), piece, limits) == Outcome{"1 " + line_refusal});
    CHECK(split(of(500), piece, limits) == Outcome{"1 " + line_refusal});
    CHECK(split(of(500) + "\n\n" + of(40), piece, limits) ==
          Outcome{"1 " + line_refusal, "2 blank", "3 " + line_refusal});
    CHECK(split(std::string(50, ' ') + "\n{}", piece, limits) ==
          Outcome{"1 " + line_refusal, "2 {}"});
    CHECK(split("[" + of(16) + ",\n" + of(17) + "," + of(500) + ",{}]", piece, limits) ==
          Outcome{"1.1 " + of(16), "2.2 " + item_refusal, "2.3 " + item_refusal, "2.4 {}"});
    CHECK(split("[[\n" + std::string(60, '\n') + "], {}]", piece, limits) ==
          Outcome{"1.1 " + item_refusal, "62.2 {}"});
    CHECK(split("[\"" + std::string(60, '\n') + "\"]", piece, limits).size() == 1);
    CHECK(split("[\"" + std::string(60, 'x') + "", piece, limits) ==
          Outcome{"1.1 " + item_refusal, "1.1 !malformed-json: the file ends inside this item"});
    CHECK(split("{\"items\":[1],\"" + of(90) + "\":\"" + of(90) + "\",\"x\":2}{\"items\":[" +
                    of(99) + "]}",
                piece, limits) == Outcome{"1.1 1", "1.2 " + item_refusal});
  }
}

}  // namespace
}  // namespace comptroller::load
