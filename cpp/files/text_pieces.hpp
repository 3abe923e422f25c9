// Formats pieces of a text in threads of its own, several at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace comptroller::files {

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
  explicit TextPiece(std::shared_ptr<SpareTexts> from)
      : text(from->take()), spares(std::move(from)) {}
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

// Returns the pieces in the order in which they were started. For one caller at a time.
class TextPieces {
 public:
  // Replaces a text by a piece; returns the number of its rows.
  using Formatter = std::function<std::int64_t(std::string& out)>;

  // Formats at most `most` pieces at a time. `while_waiting`, which may throw, is called ten times
  // a second by a caller that waits.
  explicit TextPieces(std::size_t most, std::function<void()> while_waiting = {})
      : most_(most), while_waiting_(std::move(while_waiting)) {}

  bool is_full() const { return pieces_.size() >= most_; }
  // If no thread can be started, next() runs the formatter.
  void start(Formatter format);
  // Waits for the next piece; nullopt if none is left. Throws the exception of its formatter, and
  // those of `while_waiting`; the piece is then still the next one.
  std::optional<TextPiece> next();
  // Drops all pieces.
  void clear() { pieces_.clear(); }

 private:
  std::size_t most_;
  std::function<void()> while_waiting_;
  std::shared_ptr<SpareTexts> spares_ = std::make_shared<SpareTexts>();
  std::deque<std::future<TextPiece>> pieces_;  // being formatted; a future waits for its thread
};

}  // namespace comptroller::files
