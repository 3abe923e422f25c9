// Formats the rows of an Arrow stream as text: CSV, JSON, or the format of a caller.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
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

// Reuses the memory of destroyed pieces. It is already mapped, and often still in the processor's
// cache. For several threads.
class SpareTexts {
 public:
  SpareTexts() { texts_.reserve(max_texts); }

  std::string take();
  void give(std::string text);

 private:
  static constexpr std::size_t max_texts = 8;

  std::mutex mutex_;
  std::vector<std::string> texts_;
};

struct TextPiece {
  TextPiece() = default;
  TextPiece(std::shared_ptr<SpareTexts> from, std::int64_t count)
      : text(from->take()), rows(count), spares(std::move(from)) {}
  ~TextPiece() {
    if (spares) spares->give(std::move(text));
  }
  TextPiece(TextPiece&&) = default;
  TextPiece& operator=(TextPiece&& other) noexcept {
    std::swap(text, other.text);
    std::swap(rows, other.rows);
    std::swap(spares, other.spares);
    return *this;
  }

  std::string text;
  std::int64_t rows = 0;
  std::shared_ptr<SpareTexts> spares;
};

// Reads the stream in the caller's thread, and formats several pieces of rows at a time in threads
// of its own. For one caller at a time.
class TextReader {
 public:
  // Replaces a text by rows of a batch, from `begin` until before `end`. Several threads call it at
  // once.
  using Formatter = std::function<void(std::string& out, const ArrowArray& batch,
                                       std::int64_t begin, std::int64_t end)>;

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
  std::optional<TextPiece> next();

 private:
  // Starts to format the next rows; returns false at the end.
  bool begin_piece();
  [[noreturn]] void fail();

  Owned<ArrowArrayStream> stream_;
  Formatter format_;
  std::shared_ptr<Array> batch_;
  std::int64_t next_row_ = 0;  // in the batch
  std::shared_ptr<SpareTexts> spares_ = std::make_shared<SpareTexts>();
  std::deque<std::future<TextPiece>> pieces_;  // being formatted; a future waits for its thread
};

}  // namespace comptroller::arrow
