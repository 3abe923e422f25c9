#include "arrow/text_reader.hpp"

#include <algorithm>
#include <utility>

#include "model/error.hpp"

namespace comptroller::arrow {

namespace {

constexpr std::int64_t rows_per_piece = 4'096;

using Formatter = TextReader::Formatter;

void append_line(std::string& out, std::vector<TextCells>& columns, const ArrowArray& batch,
                 std::int64_t row) {
  const std::size_t begin = out.size();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) out += ',';
    columns[i].append_csv(out, *batch.children[i], batch.offset + row);
  }
  // A quoted empty cell, because readers ignore an empty line.
  out += out.size() == begin ? "\"\"\r\n" : "\r\n";
}

// Writes a row as an object; `openings` precede the values of the columns.
void write_object(json::JsonWriter& out, std::vector<TextCells>& columns,
                  const std::vector<std::string>& openings, const ArrowArray& batch,
                  std::int64_t row) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    out.put(openings[i]);
    columns[i].write_json(out, *batch.children[i], batch.offset + row);
  }
  out.put("}");
}

Formatter make_formatter(const ArrowSchema& schema, const std::vector<TextColumn>& described,
                         TextFormat format) {
  if (std::cmp_not_equal(schema.n_children, described.size())) {
    throw Error::invalid("columns", "must have the same number as the columns of the stream");
  }
  std::vector<TextCells> cells;
  std::vector<std::string> openings;
  for (std::size_t i = 0; i < described.size(); ++i) {
    cells.emplace_back(*schema.children[i], described[i].content);
    std::string& opening = openings.emplace_back(i == 0 ? "\n{" : ",");
    json::JsonWriter(opening).write(std::string_view(described[i].name));
    opening += ':';
  }
  if (format == TextFormat::csv) {
    return [cells](std::string& out, const ArrowArray& batch, const TextReader::RowRange& rows) {
      std::vector<TextCells> columns = cells;
      out.clear();
      for (std::int64_t row = rows.begin; row < rows.end; ++row) {
        append_line(out, columns, batch, row);
      }
    };
  }
  return [cells, openings](std::string& text, const ArrowArray& batch,
                           const TextReader::RowRange& rows) {
    std::vector<TextCells> columns = cells;
    auto out = json::JsonWriter::replacing(text);
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      if (row > rows.begin) out.put(",");
      write_object(out, columns, openings, batch, row);
    }
  };
}

}  // namespace

TextReader::TextReader(Owned<ArrowArrayStream> stream,
                       const std::function<Formatter(const ArrowSchema&)>& make)
    : stream_(std::move(stream)) {
  ArrowSchema raw{};
  if (stream_.get()->get_schema(stream_.get(), &raw) != 0) fail();
  const Schema schema(raw);
  format_ = make(raw);
}

TextReader::TextReader(Owned<ArrowArrayStream> stream, const std::vector<TextColumn>& columns,
                       TextFormat format)
    : TextReader(std::move(stream), [&](const ArrowSchema& schema) {
        return make_formatter(schema, columns, format);
      }) {}

std::optional<files::TextPiece> TextReader::next() {
  try {
    while (!pieces_.is_full() && begin_piece()) {
    }
    return pieces_.next();
  } catch (...) {
    pieces_.clear();
    batch_ = nullptr;
    stream_ = {};
    throw;
  }
}

bool TextReader::begin_piece() {
  while (!batch_ || next_row_ == batch_->get()->length) {
    if (stream_.get() == nullptr) return false;
    if (batch_) rows_before_ += batch_->get()->length;
    ArrowArray batch{};
    if (stream_.get()->get_next(stream_.get(), &batch) != 0) fail();
    batch_ = batch.release == nullptr ? nullptr : std::make_shared<Array>(batch);
    next_row_ = 0;
    if (!batch_) stream_ = {};
  }
  const std::int64_t begin = next_row_;
  next_row_ = std::min(begin + rows_per_piece, batch_->get()->length);
  const RowRange rows{begin, next_row_, rows_before_};
  pieces_.start([this, batch = batch_, rows](std::string& out) {
    format_(out, *batch->get(), rows);
    return rows.end - rows.begin;
  });
  return true;
}

void TextReader::fail() {
  const char* const message = stream_.get()->get_last_error(stream_.get());
  const std::string detail = message == nullptr ? "the rows cannot be read" : message;
  throw Error(Code::unavailable, detail);
}

}  // namespace comptroller::arrow
