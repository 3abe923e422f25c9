// The lines of an input. A load can parse them before it stores them, and read them again.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "load/line_file.hpp"
#include "load/parsed_lines.hpp"

namespace comptroller::load {

// Lines come from the parser, or from the temporary file that keeps them. For one thread at a time.
template <Record Line>
class LineSource {
 public:
  using Lines = std::vector<ParsedLine<Line>>;

  // Temporary files are created in `folder`.
  LineSource(Input& input, std::string folder)
      : input_(input),
        folder_(std::move(folder)),
        parser_(std::make_unique<ParsedLines<Line>>(input)) {}

  // See ParsedLines.
  template <class WhileWaiting>
  Lines next(Lines done, const WhileWaiting& while_waiting) {
    if (reads_kept_) {
      if (next_ == kept_->size()) return {};
      kept_->read(next_++, done);
      return done;
    }
    Lines lines = parser_->next(std::move(done), while_waiting);
    is_parsed_ = lines.empty();
    if (kept_ && !is_parsed_) kept_->append(lines);
    return lines;
  }
  bool is_ready() { return parser_->is_ready(); }
  bool is_in_this_thread() const { return parser_->is_in_this_thread(); }
  std::uint64_t bytes_read() const { return parser_->bytes_read(); }
  const json::UnknownMembers& unknown_members() const { return parser_->unknown_members(); }

  // The number of bytes, if it is known by now.
  std::optional<std::uint64_t> size() const { return is_parsed_ ? bytes_read() : input_.size(); }
  // Whether next() returns lines that were kept.
  bool is_kept() const { return reads_kept_; }
  // Whether next() reads an input that cannot be read again.
  bool is_stream() const { return !input_.size() && !reads_kept_; }

  // Keeps the lines of a stream. `first` are the lines that next() has returned so far.
  void keep(Lines& first) {
    kept_ = std::make_unique<LineFile<Line>>(folder_);
    kept_->append(first);
  }

  // Parses and keeps the remaining lines, so that next() does not need the input.
  template <class WhileWaiting>
  void parse_rest(const WhileWaiting& while_waiting) {
    if (reads_kept_) return;
    if (!kept_) kept_ = std::make_unique<LineFile<Line>>(folder_);
    next_ = kept_->size();
    Lines lines;
    do {
      lines = next(std::move(lines), while_waiting);
      while_waiting();
    } while (!lines.empty());
    reads_kept_ = true;
  }

  // Continues at the first line of an input that can be read again, or of a stream that was kept to
  // its end.
  void rewind() {
    next_ = 0;
    reads_kept_ = !input_.size();
    if (reads_kept_) return;
    is_parsed_ = false;
    kept_.reset();
    parser_.reset();
    input_.rewind();
    parser_ = std::make_unique<ParsedLines<Line>>(input_);
  }

 private:
  Input& input_;
  std::string folder_;
  std::unique_ptr<ParsedLines<Line>> parser_;
  std::unique_ptr<LineFile<Line>> kept_;
  bool is_parsed_ = false;   // to the end
  bool reads_kept_ = false;  // next() returns lines from kept_
  std::size_t next_ = 0;     // in kept_
};

}  // namespace comptroller::load
