// Text that is not JSON is malformed. JSON that is not one object with the right members is
// invalid.
#include <doctest/doctest.h>

#include "json/refusals.hpp"

namespace comptroller::json {
namespace {

TEST_CASE("text that is not JSON according to RFC 8259 is malformed") {
  for (const std::string_view document : {"",
                                          " ",
                                          "\n",
                                          "{",
                                          "}",
                                          "{\"a\"}",
                                          "{\"a\":}",
                                          "{\"a\":1,}",
                                          "{,}",
                                          "{\"a\" 1}",
                                          "{a:1}",
                                          "{'a':1}",
                                          "{\"a\":1 \"b\":2}",
                                          "{\"a\":[1,]}",
                                          "{\"a\":[1}",
                                          "{\"a\":1]",
                                          "{\"a\":tru}",
                                          "{\"a\":True}",
                                          "{\"a\":nul}",
                                          "{\"a\":NaN}",
                                          "{\"a\":Infinity}",
                                          "{\"a\":undefined}",
                                          "{\"a\":\"b}",
                                          "{\"a\":1}}",
                                          "{\"a\":1} x",
                                          "{\"a\":1}{\"b\":2}",
                                          "{} {}",
                                          "{}[]",
                                          "{}0",
                                          "/* no */ {}",
                                          "{\"a\":1} // no",
                                          "{\"a\":\"\\x41\"}",
                                          "{\"a\":\"\\'\"}",
                                          "{\"a\":\"\\u12\"}",
                                          "{\"a\":\"\\u12G4\"}",
                                          "{\"a\":\"\\\"}"}) {
    CAPTURE(document);
    CHECK(judged_code(document) == "malformed-json");
  }
}

TEST_CASE("numbers follow RFC 8259") {
  for (const std::string_view number :
       {"01",   "-01",  "00",    "1.",  ".5",  "-.5",   "+1",    "-",  "1e", "1e+", "1E-",
        "1.e5", "0x10", "1_000", "1 2", "--1", "1.2.3", "1e5.5", "1a", "0.", "-a"}) {
    CAPTURE(number);
    CHECK(judged_code("{\"a\":" + std::string(number) + "}") == "malformed-json");
    CHECK(judged_code("{\"a\":[" + std::string(number) + "]}") == "malformed-json");
  }
  for (const std::string_view number : {"0", "-0", "1", "-1", "1.5", "1e5", "1E+5", "1e-5", "0.0",
                                        "-0.0e-0", "9007199254740993", "18446744073709551615"}) {
    CAPTURE(number);
    CHECK(judged_code("{\"a\":" + std::string(number) + "}").empty());
  }
}

TEST_CASE("an unknown member may have a number beyond every machine type") {
  for (const std::string_view number :
       {"1e999", "-1e999", "123456789012345678901234567890", "18446744073709551616", "1E+400"}) {
    CAPTURE(number);
    CHECK(judged_code("{\"a\":" + std::string(number) + "}").empty());
    CHECK(judged_code("{\"b\":\"01 \\\" 1.\",\"a\":[" + std::string(number) + " ]}").empty());
  }
  const std::string most = "{\"b\":[1e999" + repeated(",1", (max_document_size - 20) / 2) + "]}";
  CHECK(judged_code(most).empty());
}

TEST_CASE("a member that must be a string names a number as it was written") {
  for (const std::string_view number : {"1", "-2.5", "1e999", "18446744073709551616"}) {
    CAPTURE(number);
    const std::string refusal = "must be a string, not " + std::string(number) + ": ";
    CHECK(judged("{\"x\":[7,1e999],\"reason\":" + std::string(number) + "}")
              .messages.at(0)
              .starts_with(refusal));
  }
}

TEST_CASE("the text after such a number must be JSON") {
  for (const std::string_view document :
       {"{\"a\":1e999", "{\"a\":1e999,}", "{\"a\":1e999} x", "{\"a\":1e999,\"b\":01}",
        "{\"a\":[1e999,1.]}", "{\"a\":1e999,\"b\":tru}", "{\"a\":1e999]"}) {
    CAPTURE(document);
    CHECK(judged_code(document) == "malformed-json");
  }
}

TEST_CASE("a byte order mark is malformed") {
  CHECK(judged_code("\xEF\xBB\xBF{}") == "malformed-json");
  CHECK(judged_code("\xFE\xFF{}") == "malformed-json");
}

TEST_CASE("text that is not UTF-8 is malformed, in values, in keys and between them") {
  for (const std::string& bytes :
       {std::string("\xFF"), std::string("\x80"), std::string("\xC3"), std::string("\xC0\xAF"),
        std::string("\xE0\x80\xAF"), std::string("\xED\xA0\x80"), std::string("\xED\xBF\xBF"),
        std::string("\xF4\x90\x80\x80"), std::string("\xF8\x88\x80\x80\x80"),
        std::string("\xE2\x82"), std::string("\xF0\x9F\x92")}) {
    CAPTURE(bytes);
    CHECK(judged_code("{\"a\":\"" + bytes + "\"}") == "malformed-json");
    CHECK(judged_code("{\"" + bytes + "\":1}") == "malformed-json");
    CHECK(judged_code("{}" + bytes) == "malformed-json");
  }
  CHECK(judged_code("{\"a\":\"\xED\x9F\xBF \xEE\x80\x80 \xF4\x8F\xBF\xBF\"}").empty());
}

TEST_CASE("an escape that is not a Unicode scalar value is malformed everywhere") {
  for (const std::string_view escape :
       {"\\ud800", "\\udbff", "\\udc00", "\\udfff", "\\ud800\\ud800", "\\udc00\\ud800", "\\ud800x",
        "\\ud800\\n", "\\uD83Dx\\uDE00", "\\ud800\\u0041"}) {
    CAPTURE(escape);
    const std::string text(escape);
    CHECK(judged_code("{\"a\":\"" + text + "\"}") == "malformed-json");
    CHECK(judged_code("{\"" + text + "\":1}") == "malformed-json");
    CHECK(judged_code("{\"a\":{\"b\":[1,{\"c\":\"" + text + "\"}]}}") == "malformed-json");
    CHECK(judged_code("{\"a\":[{\"" + text + "\":1}]}") == "malformed-json");
    CHECK(judged_code("\"" + text + "\"") == "malformed-json");
  }
  CHECK(judged_code("{\"a\":\"\\ud83d\\ude00 \\u00e9 \\uffff\"}").empty());
  CHECK(read<DeleteControl>("{\"reason\":\"\\ud83d\\uDE00\"}").reason->value == "\xF0\x9F\x98\x80");
}

TEST_CASE("control characters must be escaped") {
  for (int character = 0; character < 0x20; ++character) {
    CAPTURE(character);
    const std::string raw(1, static_cast<char>(character));
    CHECK(judged_code("{\"a\":\"" + raw + "\"}") == "malformed-json");
    CHECK(judged_code("{\"a" + raw + "\":1}") == "malformed-json");
    const bool is_space = raw == "\t" || raw == "\n" || raw == "\r";
    CHECK(judged_code("{" + raw + "\"a\":1}") == (is_space ? "" : "malformed-json"));
  }
  CHECK(judged_code("{\"a\":\"\x7f\"}").empty());
}

TEST_CASE("values are nested at most 32 deep") {
  const auto arrays = [](std::size_t depth) {
    return "{\"a\":" + repeated("[", depth - 1) + repeated("]", depth - 1) + "}";
  };
  const auto objects = [](std::size_t depth) {
    return repeated("{\"a\":", depth - 1) + "{}" + repeated("}", depth - 1);
  };
  CHECK(judged_code(arrays(32)).empty());
  CHECK(judged_code(objects(32)).empty());
  CHECK(judged_code(arrays(33)) == "malformed-json");
  CHECK(judged_code(objects(33)) == "malformed-json");
  CHECK(judged_code(arrays(100'000)) == "malformed-json");
  CHECK(judged_code(repeated("[", 100'000)) == "malformed-json");
  CHECK(judged_code("{\"a\":" + repeated("[", 31) + "1" + repeated("]", 31) + "}").empty());
}

TEST_CASE("a document has at most 1 MiB") {
  const auto of_size = [](std::size_t size) {
    const std::string_view frame = R"({"a":""})";
    return R"({"a":")" + std::string(size - frame.size(), 'x') + R"("})";
  };
  CHECK(judged_code(of_size(max_document_size)).empty());
  CHECK(judged_code(of_size(max_document_size + 1)) == "content-too-large");
  CHECK(judged_code(std::string(max_document_size - 2, ' ') + "{}").empty());
  CHECK(judged_code(std::string(max_document_size, '{')) == "malformed-json");
  CHECK(judged_code(std::string(2 * max_document_size, '{')) == "content-too-large");
}

TEST_CASE("a document is one object") {
  for (const std::string_view document :
       {"[]", "[{}]", "\"text\"", "1", "-1.5e3", "true", "false", "null"}) {
    CAPTURE(document);
    CHECK(judged_code(document) == "invalid-request");
  }
  CHECK(judged_code("{}").empty());
  CHECK(judged_code(" \t\r\n{ }\n ").empty());
}

TEST_CASE("a reader can be used after an error") {
  Reader reader;
  for (int round = 0; round < 3; ++round) {
    DeleteControl record;
    CHECK_THROWS_AS(reader.read("{", record), Error);
    CHECK_THROWS_AS(reader.read(R"({"id":1,"reason":2})", record), Error);
    reader.read(R"({"id":"c1"})", record);
    CHECK(record.id == Id{"c1"});
  }
}

TEST_CASE("a document in padded memory is read in place") {
  std::string memory = R"({"id":"c1"})";
  const std::size_t size = memory.size();
  memory.append(padding, 'x');
  ReadOptions options;
  options.is_padded = true;
  CHECK(read<DeleteControl>(std::string_view(memory).substr(0, size), options).id == Id{"c1"});
}

}  // namespace
}  // namespace comptroller::json
