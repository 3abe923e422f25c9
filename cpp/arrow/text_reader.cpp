#include "arrow/text_reader.hpp"

#include <algorithm>
#include <utility>

#include "model/error.hpp"

namespace comptroller::arrow {

namespace {

constexpr std::int64_t rows_a_piece = 4'096;
constexpr std::size_t pieces_ahead = 3;

void append_line(std::string& out, std::vector<TextCells>& columns, const ArrowArray& batch,
                 std::int64_t row) {
  const std::size_t begin = out.size();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) out += ',';
    columns[i].append_csv(out, *batch.children[i], batch.offset + row);
  }
  // A line without a character would be no row to readers.
  out += out.size() == begin ? "\"\"\r\n" : "\r\n";
}

}  // namespace

TextReader::TextReader(Owned<ArrowArrayStream> stream, const std::vector<TextColumn>& columns,
                       TextFormat format)
    : stream_(std::move(stream)), format_(format) {
  ArrowSchema raw{};
  if (stream_.get()->get_schema(stream_.get(), &raw) != 0) fail();
  const Schema schema(raw);
  if (std::cmp_not_equal(raw.n_children, columns.size())) {
    throw Error::invalid("columns", "must be as many as those of the stream");
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    columns_.emplace_back(*raw.children[i], columns[i].content);
    std::string& opening = openings_.emplace_back(i == 0 ? "\n{" : ",");
    json::JsonWriter(opening).write(std::string_view(columns[i].name));
    opening += ':';
  }
}

std::optional<TextPiece> TextReader::next() {
  while (pieces_.size() < pieces_ahead && begin_piece()) {
  }
  if (pieces_.empty()) return std::nullopt;
  std::future<TextPiece> piece = std::move(pieces_.front());
  pieces_.pop_front();
  TextPiece given = piece.get();
  expected_size_ = given.text.size() + given.text.size() / 8;
  return given;
}

bool TextReader::begin_piece() {
  while (!batch_ || next_row_ == batch_->get()->length) {
    if (stream_.get() == nullptr) return false;
    batch_ = read_batch();
    next_row_ = 0;
    if (!batch_) stream_ = {};
  }
  const std::int64_t begin = next_row_;
  next_row_ = std::min(begin + rows_a_piece, batch_->get()->length);
  pieces_.push_back(std::async(std::launch::async, [this, batch = batch_, begin, end = next_row_] {
    return format(*batch->get(), begin, end);
  }));
  return true;
}

std::shared_ptr<Array> TextReader::read_batch() {
  ArrowArray batch{};
  if (stream_.get()->get_next(stream_.get(), &batch) != 0) fail();
  return batch.release == nullptr ? nullptr : std::make_shared<Array>(batch);
}

TextPiece TextReader::format(const ArrowArray& batch, std::int64_t begin, std::int64_t end) const {
  std::vector<TextCells> columns = columns_;
  TextPiece piece{{}, end - begin};
  piece.text.reserve(expected_size_);
  if (format_ == TextFormat::csv) {
    for (std::int64_t row = begin; row < end; ++row) append_line(piece.text, columns, batch, row);
  } else {
    json::JsonWriter out(piece.text);
    for (std::int64_t row = begin; row < end; ++row) {
      if (row > begin) out.put(",");
      write_object(out, columns, batch, row);
    }
  }
  return piece;
}

void TextReader::write_object(json::JsonWriter& out, std::vector<TextCells>& columns,
                              const ArrowArray& batch, std::int64_t row) const {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    out.put(openings_[i]);
    columns[i].write_json(out, *batch.children[i], batch.offset + row);
  }
  out.put("}");
}

void TextReader::fail() {
  const char* const message = stream_.get()->get_last_error(stream_.get());
  const std::string detail = message == nullptr ? "the rows cannot be read" : message;
  stream_ = {};
  throw Error(Code::unavailable, detail);
}

}  // namespace comptroller::arrow
