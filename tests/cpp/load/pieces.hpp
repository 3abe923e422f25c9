// Inputs made of text, for the tests of readers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "load/input.hpp"

namespace comptroller::load {

// A text that is read in pieces of at most `piece` bytes.
class TextInput : public Input {
 public:
  explicit TextInput(std::string_view text, std::size_t piece = std::string_view::npos)
      : text_(text), piece_(piece) {}

  std::size_t read(char* out, std::size_t capacity) override {
    const std::size_t size = text_.copy(out, std::min(capacity, piece_));
    text_.remove_prefix(size);
    return size;
  }

 private:
  std::string_view text_;
  std::size_t piece_;
};

// A beginning, a repeated part and an end; the whole text is never in memory.
class RepeatedInput : public Input {
 public:
  RepeatedInput(std::string beginning, std::string part, std::size_t times, std::string end)
      : now_(std::move(beginning)), part_(std::move(part)), times_(times), end_(std::move(end)) {}

  std::size_t read(char* out, std::size_t capacity) override {
    std::size_t size = 0;
    while (size < capacity && (at_ < now_.size() || advance())) {
      const std::size_t copied = now_.copy(out + size, capacity - size, at_);
      at_ += copied;
      size += copied;
    }
    return size;
  }

 private:
  bool advance() {
    if (times_ == 0 && is_ended_) return false;
    is_ended_ = times_ == 0;
    now_ = is_ended_ ? end_ : part_;
    if (!is_ended_) --times_;
    at_ = 0;
    return !now_.empty();
  }

  std::string now_;
  std::size_t at_ = 0;
  std::string part_;
  std::size_t times_;
  std::string end_;
  bool is_ended_ = false;
};

}  // namespace comptroller::load
