#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "arrow/text_reader.hpp"
#include "model/amount.hpp"
#include "model/error.hpp"

namespace comptroller::arrow {
namespace {

// A column whose buffers and children exist as long as the stream.
struct Column {
  std::string format;
  std::vector<std::string> buffers;  // validity (all valid if empty), values or offsets, texts
  std::vector<Column> children = {};
};

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

Column integers(const std::vector<std::int64_t>& values) {
  return {"l", {"", bytes_of(values)}};
}

Column texts(const std::vector<std::string>& values, const std::string& validity = "") {
  std::string all;
  std::vector<std::int64_t> offsets{0};
  for (const std::string& value : values) {
    all += value;
    offsets.push_back(static_cast<std::int64_t>(all.size()));
  }
  return {"U", {validity, bytes_of(offsets), all}};
}

// Returns the same batch several times, then the end or an error. Counts the batches that were not
// released.
struct Stream {
  std::vector<Column> columns;
  std::int64_t offset = 0;
  std::int64_t length = 0;
  int batches = 1;
  int code_at_end = 0;
  std::atomic<int> open = 0;

  struct Built {
    Stream* stream = nullptr;
    std::vector<const void*> buffers;
    std::vector<ArrowArray*> children;
  };

  static void release_array(ArrowArray* array) {
    auto* built = static_cast<Built*>(array->private_data);
    for (ArrowArray* child : built->children) {
      child->release(child);
      delete child;
    }
    --built->stream->open;
    delete built;
    array->release = nullptr;
  }
  static void release_schema(ArrowSchema* schema) {
    for (std::int64_t i = 0; i < schema->n_children; ++i) {
      schema->children[i]->release(schema->children[i]);
      delete schema->children[i];
    }
    delete[] schema->children;
    schema->release = nullptr;
  }

  void build(const Column& column, std::int64_t begin, ArrowArray* out) {
    auto* built = new Built{this, {}, {}};
    for (const std::string& buffer : column.buffers) {
      const bool is_missing = built->buffers.empty() && buffer.empty();
      built->buffers.push_back(is_missing ? nullptr : buffer.data());
    }
    for (const Column& child : column.children) {
      build(child, 0, built->children.emplace_back(new ArrowArray()));
    }
    ++open;
    *out = {length,
            -1,
            begin,
            static_cast<std::int64_t>(built->buffers.size()),
            static_cast<std::int64_t>(built->children.size()),
            built->buffers.data(),
            built->children.data(),
            nullptr,
            &release_array,
            built};
  }
  static void describe(const Column& column, ArrowSchema* out) {
    auto** children = new ArrowSchema*[column.children.size()];
    for (std::size_t i = 0; i < column.children.size(); ++i) {
      describe(column.children[i], children[i] = new ArrowSchema());
    }
    *out = {column.format.c_str(),
            "",
            nullptr,
            ARROW_FLAG_NULLABLE,
            static_cast<std::int64_t>(column.children.size()),
            children,
            nullptr,
            &release_schema,
            nullptr};
  }

  Owned<ArrowArrayStream> begin() {
    row = {"+s", {""}, columns};
    ArrowArrayStream stream{};
    stream.private_data = this;
    stream.get_schema = [](ArrowArrayStream* self, ArrowSchema* out) {
      describe(static_cast<Stream*>(self->private_data)->row, out);
      return 0;
    };
    stream.get_next = [](ArrowArrayStream* self, ArrowArray* out) {
      auto* of = static_cast<Stream*>(self->private_data);
      *out = {};
      if (of->batches-- > 0) {
        of->build(of->row, of->offset, out);
      } else {
        return of->code_at_end;
      }
      return 0;
    };
    stream.get_last_error = [](ArrowArrayStream*) { return "the disk is gone"; };
    stream.release = [](ArrowArrayStream* self) { self->release = nullptr; };
    return Owned<ArrowArrayStream>(stream);
  }

  Column row = {};  // the type of a batch
};

std::string text_of(Stream& stream, TextFormat format, TextContent content = {}) {
  std::string text;
  {
    const std::vector<TextColumn> columns(stream.columns.size(), {"x", content});
    TextReader reader(stream.begin(), columns, format);
    while (const std::optional<files::TextPiece> piece = reader.next()) text += piece->text;
  }
  CHECK(stream.open == 0);
  return text;
}

TEST_CASE("each type of column is written as CSV and as JSON") {
  const Column decimals{"d:38,2,128", {"", bytes_of<Int128>({150, -1, 0})}};
  const Column times{"tsu:UTC", {"", bytes_of<std::int64_t>({0, 1'500'000, -1})}};
  const Column lists{"+L", {"\3", bytes_of<std::int64_t>({0, 0, 2, 2})}, {texts({"a", "b"}, "\1")}};
  const auto stream = [&] {
    return Stream{
        {integers({1, -2, 3}), decimals, times, lists, texts({"=1,2", "", "\n"}, "\5")}, 0, 3};
  };
  Stream csv = stream();
  CHECK(text_of(csv, TextFormat::csv, {.is_formula = true}) ==
        "1,1.5,1970-01-01T00:00:00Z,[],\"'=1,2\"\r\n"
        "-2,-0.01,1970-01-01T00:00:01.5Z,\"[\"\"a\"\",null]\",\r\n"
        "3,0,1969-12-31T23:59:59.999999Z,,\"\n\"\r\n");
  Stream json = stream();
  CHECK(
      text_of(json, TextFormat::json) ==
      "\n{\"x\":1,\"x\":\"1.5\",\"x\":\"1970-01-01T00:00:00Z\",\"x\":[],\"x\":\"=1,2\"},"
      "\n{\"x\":-2,\"x\":\"-0.01\",\"x\":\"1970-01-01T00:00:01.5Z\",\"x\":[\"a\",null],\"x\":null},"
      "\n{\"x\":3,\"x\":\"0\",\"x\":\"1969-12-31T23:59:59.999999Z\",\"x\":null,\"x\":\"\\n\"}");
}

TEST_CASE("JSON texts are written to JSON unchanged") {
  Stream stream{{texts({"[1]"})}, 0, 1};
  CHECK(text_of(stream, TextFormat::json, {.is_json = true}) == "\n{\"x\":[1]}");
}

TEST_CASE("a row with one empty cell is a line with quotes") {
  Stream stream{{texts({""})}, 0, 1};
  CHECK(text_of(stream, TextFormat::csv) == "\"\"\r\n");
}

TEST_CASE("rows of many batches and pieces come in order, starting at the batch's offset") {
  std::vector<std::int64_t> numbers(20'001);
  std::string lines;
  std::string objects;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<std::int64_t>(i);
    if (i == 0) continue;
    lines += std::to_string(i) + "\r\n";
    objects += "\n{\"x\":" + std::to_string(i) + "}";
  }
  Stream csv{{integers(numbers)}, 1, 20'000, 3};
  CHECK(text_of(csv, TextFormat::csv) == lines + lines + lines);
  Stream json{{integers(numbers)}, 1, 20'000, 3};
  std::string text = text_of(json, TextFormat::json);
  std::erase(text, ',');  // between the rows of a piece
  CHECK(text == objects + objects + objects);
}

TEST_CASE("a reader may be destroyed before the end of the stream") {
  Stream stream{{integers(std::vector<std::int64_t>(50'000))}, 0, 50'000, 1000};
  {
    TextReader reader(stream.begin(), {{"x", {}}}, TextFormat::json);
    CHECK(reader.next());
  }
  CHECK(stream.open == 0);
}

TEST_CASE("a failed stream reports its message and then ends") {
  for (const int batches : {0, 1}) {
    Stream stream{{integers({1})}, 0, 1, batches, 5};
    TextReader reader(stream.begin(), {{"x", {}}}, TextFormat::csv);
    CHECK_THROWS_WITH_AS(reader.next(), "the disk is gone", Error);
    CHECK(!reader.next());
  }
}

TEST_CASE("a stream ends when a formatter fails") {
  Stream stream{{integers(std::vector<std::int64_t>(20'000))}, 0, 20'000, 2};
  const auto format = [](std::string&, const ArrowArray&, const TextReader::RowRange& rows) {
    if (rows.begin == 0) throw Error(Code::internal, "no format");
  };
  TextReader reader(stream.begin(), [&](const ArrowSchema&) { return format; });
  CHECK_THROWS_WITH_AS(reader.next(), "no format", Error);
  CHECK(!reader.next());
  CHECK(stream.open == 0);
}

TEST_CASE("types that cannot be text are refused") {
  for (const char* format : {"i", "u", "d:9,2,64", "tsn:", "b", "n"}) {
    CAPTURE(format);
    Stream stream{{{format, {""}}}};
    CHECK_THROWS_AS(TextReader(stream.begin(), {{"x", {}}}, TextFormat::csv), Error);
  }
}

}  // namespace
}  // namespace comptroller::arrow
