#include "files/text_pieces.hpp"

#include <system_error>

namespace comptroller::files {

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
  const auto work = [format = std::move(format), spares = spares_] {
    TextPiece piece(spares);
    piece.rows = format(piece.text);
    return piece;
  };
  try {
    pieces_.push_back(std::async(std::launch::async, work));
  } catch (const std::system_error&) {
    pieces_.push_back(std::async(std::launch::deferred, work));
  }
}

std::optional<TextPiece> TextPieces::next() {
  if (pieces_.empty()) return std::nullopt;
  std::future<TextPiece> piece = std::move(pieces_.front());
  pieces_.pop_front();
  return piece.get();
}

}  // namespace comptroller::files
