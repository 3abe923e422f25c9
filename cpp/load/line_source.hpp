// The lines of a load, which can be read ahead of the write lock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "load/parsed_lines.hpp"
#include "load/rewindable_input.hpp"

namespace comptroller::load {

// Parses the lines of an input, in order. For one thread.
template <Record Line>
class LineSource {
 public:
  // The text of lines that are taken together.
  static constexpr std::size_t max_bytes = std::size_t{8} << 20U;

  // `while_waiting` is called before and during each wait for the input; it may throw. The
  // arguments must outlive this object.
  LineSource(RewindableInput& input, bool keeps_texts, OnParsed<Line> on_parsed,
             std::function<void()> while_waiting)
      : input_(input),
        keeps_texts_(keeps_texts),
        on_parsed_(std::move(on_parsed)),
        while_waiting_(std::move(while_waiting)),
        parser_(std::make_unique<ParsedLines<Line>>(input, keeps_texts, on_parsed_)) {}

  // Whether all lines were taken; known once `fetch` has found the end.
  bool is_at_end() const { return is_at_end_; }
  bool has_lines() const { return position_ < lines_.size(); }
  // Reads the next batch, if there are no lines to take; more until they have `least` lines, or
  // about max_bytes.
  void fetch(std::size_t least = 1) {
    if (has_lines() || is_at_end_) return;
    while_waiting_();
    lines_ = parser_->next(std::move(lines_), while_waiting_);
    position_ = 0;
    is_at_end_ = lines_.empty();
    if (lines_.size() >= least) return;
    std::size_t bytes = bytes_from(0);
    while (!is_at_end_ && lines_.size() < least && bytes < max_bytes) {
      const std::size_t before = lines_.size();
      if (!add_batch()) break;
      bytes += bytes_from(before);
    }
  }
  // Takes up to `max` of the lines that were fetched; fewer if they are larger than max_bytes.
  std::span<ParsedLine<Line>> take(std::size_t max) {
    const std::span<ParsedLine<Line>> left = std::span(lines_).subspan(position_);
    std::size_t count = 0;
    for (std::size_t bytes = 0; count < std::min(max, left.size()) && bytes < max_bytes; ++count) {
      bytes += left[count].size;
    }
    position_ += count;
    return left.first(count);
  }
  // Whether the next lines can be taken without waiting for the input.
  bool is_next_ready() const { return has_lines() || parser_->is_ready(); }
  // Whether the input is read in this thread, by code of the caller.
  bool is_in_this_thread() const { return parser_->is_in_this_thread(); }
  const json::UnknownMembers& unknown_members() const { return parser_->unknown_members(); }

  // Reads about 8 MiB of lines into memory, or less if the lines are short. Returns whether they
  // are all lines.
  bool fetch_into_memory() {
    constexpr std::size_t max_batches = 32;
    constexpr std::size_t max_lines = 20'000;
    for (std::size_t batch = 0; batch < max_batches && lines_.size() < max_lines; ++batch) {
      if (!add_batch()) return true;
    }
    return false;
  }
  // Reads the input to its end, so that nothing waits for it later, and begins again with the line
  // after the first `taken` lines.
  void read_ahead(std::uint64_t taken) {
    if (is_at_end_) return;
    std::vector<char> unused(std::size_t{1} << 16U);
    while (!is_at_end_) {
      if (is_in_this_thread()) {  // only reading is faster than parsing here
        while_waiting_();
        is_at_end_ = input_.read(unused.data(), unused.size()) == 0;
      } else {
        position_ = lines_.size();
        fetch();
      }
    }
    parser_.reset();
    input_.rewind();
    parser_ = std::make_unique<ParsedLines<Line>>(input_, keeps_texts_, on_parsed_);
    lines_.clear();
    position_ = 0;
    is_at_end_ = false;
    while (taken > 0 && !is_at_end_) {
      fetch();
      taken -= take(static_cast<std::size_t>(taken)).size();
    }
  }

 private:
  std::size_t bytes_from(std::size_t place) const {
    return std::accumulate(
        lines_.begin() + static_cast<std::ptrdiff_t>(place), lines_.end(), std::size_t{0},
        [](std::size_t sum, const ParsedLine<Line>& line) { return sum + line.size; });
  }
  // Returns false at the end of the input.
  bool add_batch() {
    while_waiting_();
    auto more = parser_->next({}, while_waiting_);
    std::ranges::move(more, std::back_inserter(lines_));
    return !more.empty();
  }

  RewindableInput& input_;
  bool keeps_texts_;
  OnParsed<Line> on_parsed_;
  std::function<void()> while_waiting_;
  std::unique_ptr<ParsedLines<Line>> parser_;
  std::vector<ParsedLine<Line>> lines_;
  std::size_t position_ = 0;  // of the next line to take
  bool is_at_end_ = false;
};

}  // namespace comptroller::load
