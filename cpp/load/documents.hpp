// The bytes of a load, divided into documents of one record each. The first bytes (after white
// space and a UTF-8 byte order mark) tell the format:
//
//   [              a JSON array; each element is a document
//   {"items" ...   saved list answers, one after another; each element of their `items` is a
//                  document, other members are ignored. The first member may also be
//                  `next_page_cursor` or the deprecated `orchestrations`
//   anything else  NDJSON; each line is a document
//
// Documents are not validated here: their parser refuses what is not an object. Faults around
// documents are refusals in their place: content_too_large for a document beyond the limit and
// invalid_request for an answer without an array `items` (reading continues), malformed_json for a
// broken array or answer (reading ends).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "json/reader.hpp"
#include "load/input.hpp"
#include "model/error.hpp"

namespace comptroller::load {

// Finds the end of a JSON value by its structure alone: brackets and strings are matched,
// everything else is left to the parser of the value. Reads text that may arrive in pieces; needs
// constant memory, whatever the size of the value.
class ValueScanner {
 public:
  // Inside: the text ends before the value does. Wrong bracket: one closes a bracket of the other
  // kind. Unclosed string: a line ends inside a string.
  enum class State : std::uint8_t { inside, ended, wrong_bracket, unclosed_string };

  // Starts a value whose first byte, not yet read, is neither white space nor one of , : ] }
  void begin(char first);
  // Reads on from text[at]. Moves `at` behind the value, to the faulty byte, or to the end of the
  // text, and adds the line ends that it passes to `line`.
  State scan(std::string_view text, std::size_t& at, std::uint64_t& line);

 private:
  void scan_string(std::string_view text, std::size_t& at);
  bool match(char bracket);

  bool is_bare_ = false;  // a number or a word
  bool is_in_string_ = false;
  bool is_escaped_ = false;  // the next byte of the string
  std::uint64_t depth_ = 0;
  std::uint64_t arrays_ = 0;  // which of the outermost 64 open brackets are arrays, a bit each
};

struct Document {
  std::uint64_t line = 0;  // of its first byte, from 1
  std::uint64_t item = 0;  // its number among all items of the file, from 1; 0 for NDJSON and for a
                           // fault outside items
  std::string_view text;   // json::padding readable bytes follow it
  bool is_blank = false;   // an NDJSON line of spaces, tabs and carriage returns at most
  std::unique_ptr<const Error> refusal;  // instead of a text
};

// Reads through a window of fixed size, so memory is bounded for any size of file, line or element.
// For one thread at a time, except `bytes_read`.
class Documents {
 public:
  struct Limits {
    std::size_t document = json::largest_document;
    std::size_t window = json::largest_document + json::largest_document / 4;
  };

  // `input` must outlive this.
  explicit Documents(Input& input) : Documents(input, Limits{}) {}
  Documents(Input& input, const Limits& limits);

  // The next documents, at least one; none at the end. They and their texts are valid until the
  // next call. Throws what the input throws.
  std::span<Document> next();

  // How much of the input was read so far; from any thread.
  std::uint64_t bytes_read() const { return bytes_read_.load(std::memory_order_relaxed); }

 private:
  enum class Format : std::uint8_t { unknown, lines, array, answers };
  // What comes next outside values, in the order of the rules.
  enum class Expected : std::uint8_t {
    end_of_file,
    answer,
    item_or_end,
    item,
    comma_or_end_of_items,
    name_or_end,
    name,
    colon,
    member,
    comma_or_end_of_answer
  };
  enum class Role : std::uint8_t { none, item, name, member };  // a line is an item
  struct Rule;
  static const Rule& rule_of(Expected expected);

  void fill();
  void recognise();
  void scan_line();
  void scan_items();
  void take_mark(char mark, Expected next);
  void take_value(Role role);
  void end_value(ValueScanner::State state);
  // malformed_json ends the reading.
  void refuse(std::uint64_t line, std::uint64_t item, Code code, std::string message);
  std::string place() const;

  Input& input_;
  Limits limits_;
  std::vector<char> window_;
  std::size_t size_ = 0;   // of what the window holds
  std::size_t begin_ = 0;  // of the value in hand
  std::size_t at_ = 0;     // the next byte to scan
  bool is_input_read_ = false;
  bool is_finished_ = false;
  std::atomic<std::uint64_t> bytes_read_ = 0;
  std::vector<Document> documents_;

  Format format_ = Format::unknown;
  Expected expected_ = Expected::end_of_file;
  ValueScanner scanner_;
  Role role_ = Role::none;   // of the value in hand
  bool is_dropped_ = false;  // the value in hand is too long, or not wanted
  std::uint64_t line_ = 1;
  std::uint64_t value_line_ = 0;
  std::uint64_t items_ = 0;
  std::uint64_t answer_line_ = 0;
  bool is_items_ = false;   // the member in hand is `items`
  bool has_items_ = false;  // the answer in hand
};

}  // namespace comptroller::load
