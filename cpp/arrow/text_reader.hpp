// Formats the rows of an Arrow stream as text: CSV, JSON, or the format of a caller.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arrow/memory.hpp"
#include "arrow/text_cells.hpp"
#include "files/text_pieces.hpp"

namespace comptroller::arrow {

enum class TextFormat : std::uint8_t { csv, json };

struct TextColumn {
  std::string name;
  TextContent content;
};

// Reads the stream in the caller's thread, and formats several pieces of rows at a time in threads
// of its own. For one caller at a time.
class TextReader {
 public:
  // Rows of a batch, from `begin` until before `end`; `before` rows of the stream precede the
  // batch.
  struct RowRange {
    std::int64_t begin, end, before;
  };
  // Replaces a text by rows of a batch. Several threads call it at once.
  using Formatter =
      std::function<void(std::string& out, const ArrowArray& batch, const RowRange& rows)>;

  // `make` makes the formatter for the rows of a schema, and must not keep the schema.
  TextReader(Owned<ArrowArrayStream> stream,
             const std::function<Formatter(const ArrowSchema&)>& make);
  // The columns describe those of the stream. Throws invalid_request for a type that cannot be
  // text.
  TextReader(Owned<ArrowArrayStream> stream, const std::vector<TextColumn>& columns,
             TextFormat format);

  // Returns the next rows, in order; nullopt at the end. CSV: each row ends with CR LF. JSON: each
  // row is an object after a line feed, and commas separate the rows of a piece. Throws unavailable
  // with the stream's message if the stream fails, and the exceptions of the formatter; the stream
  // has then ended.
  std::optional<files::TextPiece> next();

 private:
  // Starts to format the next rows; returns false at the end.
  bool begin_piece();
  [[noreturn]] void fail();

  Owned<ArrowArrayStream> stream_;
  Formatter format_;
  std::shared_ptr<Array> batch_;
  std::int64_t next_row_ = 0;     // in the batch
  std::int64_t rows_before_ = 0;  // the batch
  files::TextPieces pieces_{3};
};

}  // namespace comptroller::arrow
