#include "files/text_pieces.hpp"

#include <chrono>

#include "files/background.hpp"

namespace comptroller::files {

namespace {

constexpr std::chrono::milliseconds callback_interval{100};

}  // namespace

std::string SpareTexts::take() {
  const std::lock_guard lock(mutex_);
  if (texts_.empty()) return {};
  std::string text = std::move(texts_.back());
  texts_.pop_back();
  return text;
}

void SpareTexts::give(std::string text) {
  const std::lock_guard lock(mutex_);
  if (texts_.size() < texts_.capacity()) texts_.push_back(std::move(text));
}

void TextPieces::start(Formatter format) {
  pieces_.push_back(run_in_background([format = std::move(format), spares = spares_] {
    TextPiece piece(spares);
    piece.rows = format(piece.text);
    return piece;
  }));
}

std::optional<TextPiece> TextPieces::next() {
  if (pieces_.empty()) return std::nullopt;
  if (while_waiting_) {
    while (pieces_.front().wait_for(callback_interval) == std::future_status::timeout) {
      while_waiting_();
    }
  }
  std::future<TextPiece> piece = std::move(pieces_.front());
  pieces_.pop_front();
  return piece.get();
}

}  // namespace comptroller::files
