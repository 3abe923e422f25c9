// The rows of an Arrow stream as text: CSV, JSON, or what a caller makes of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arrow/memory.hpp"
#include "arrow/text_cells.hpp"

namespace comptroller::arrow {

enum class TextFormat : std::uint8_t { csv, json };

struct TextColumn {
  std::string name;
  TextContent content;
};

struct TextPiece {
  std::string text;
  std::int64_t rows = 0;
};

// Formats rows in pieces, several at a time in threads of their own while the caller's thread reads
// the stream. For one caller at a time.
class TextReader {
 public:
  // Appends rows of a batch, from `begin` until before `end`. Called by several threads at a time.
  using Formatter = std::function<void(std::string& out, const ArrowArray& batch,
                                       std::int64_t begin, std::int64_t end)>;

  // `make` makes the formatter for the rows of a schema, which is released then.
  TextReader(Owned<ArrowArrayStream> stream,
             const std::function<Formatter(const ArrowSchema&)>& make);
  // The columns are those of the stream. Throws invalid_request for a type that has no text.
  TextReader(Owned<ArrowArrayStream> stream, const std::vector<TextColumn>& columns,
             TextFormat format);

  // The next rows, in their order; nullopt at the end. CSV: each row ends with CR LF. JSON: each
  // is an object behind a line feed; commas separate those of a piece. Throws unavailable with the
  // stream's message if it fails, and what the formatter throws; the stream has ended then.
  std::optional<TextPiece> next();

 private:
  // Begins to format the next rows; false at the end.
  bool begin_piece();
  std::shared_ptr<Array> read_batch();
  [[noreturn]] void fail();

  Owned<ArrowArrayStream> stream_;
  Formatter format_;
  std::shared_ptr<Array> batch_;
  std::int64_t next_row_ = 0;                   // of the batch
  std::atomic<std::size_t> expected_size_ = 0;  // of the text of a piece
  std::deque<std::future<TextPiece>> pieces_;   // begun; a future waits for its thread to end
};

}  // namespace comptroller::arrow
