// Splits the bytes of a load into documents of one record each. The first bytes (after white space
// and a UTF-8 byte order mark) determine the format:
//
//   [              a JSON array; each element is a document, or a saved list answer
//   {"items" ...   saved list answers, one after another; each element of their `items` is a
//                  document, and other members are ignored. The first member may also be
//                  `next_page_cursor` or the deprecated `orchestrations`
//   {              objects one after another, if the first goes on after its first line, as printed
//                  with indentation; each is a document
//   anything else  NDJSON; each line is a document
//
// An input may say that it has only lines.
//
// The parser of a document validates it and rejects documents that are not objects. Errors outside
// documents are returned as refusals in their order: content_too_large for a document above the
// limit and invalid_request for an answer without an array `items` (reading continues),
// malformed_json for an invalid array or answer (reading ends).
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "json/reading.hpp"
#include "load/input.hpp"
#include "model/error.hpp"

namespace comptroller::load {

// Finds the end of a JSON value by its structure: matches brackets and strings, and leaves other
// errors to the parser of the value. The text may arrive in pieces. Uses constant memory for values
// of any size.
class ValueScanner {
 public:
  // inside: the text ends before the value. wrong_bracket: a bracket closes another kind of
  // bracket. unclosed_string: a line ends inside a string.
  enum class State : std::uint8_t { inside, ended, wrong_bracket, unclosed_string };

  // Starts a value with its first byte, which has not been read. It must not be white space or one
  // of , : ] }
  void begin(char first);
  // Continues at text[at]. Advances `at` to the end of the value, to the invalid byte, or to the
  // end of the text, and adds the line ends that it passes to `line`.
  State scan(std::string_view text, std::size_t& at, std::uint64_t& line);

 private:
  void scan_string(std::string_view text, std::size_t& at);
  bool match(char bracket);

  bool is_bare_ = false;  // a number or a word
  bool is_in_string_ = false;
  bool is_escaped_ = false;  // applies to the next byte of the string
  std::uint64_t depth_ = 0;
  std::uint64_t arrays_ =
      0;  // a bit for each of the outermost 64 open brackets: whether it is an array
};

struct Document {
  std::uint64_t line = 0;  // line of its first byte, from 1
  std::uint64_t item = 0;  // number among all items of the file, from 1; 0 for NDJSON and for an
                           // error outside items
  std::string_view text;   // followed by json::padding readable bytes
  bool is_blank = false;   // an NDJSON line with only spaces, tabs and carriage returns
  std::unique_ptr<const Error> refusal;  // set instead of a text
};

// Memory for windows of one size. What is no longer used is taken again: it is already mapped, and
// often still in the processor's cache. For several threads.
class Windows : public std::enable_shared_from_this<Windows> {
 public:
  explicit Windows(std::size_t bytes) : bytes_(bytes) { spares_.reserve(max_spares); }

  std::shared_ptr<char[]> take();

 private:
  static constexpr std::size_t max_spares = 32;

  void give(char* memory);

  std::size_t bytes_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<char[]>> spares_;
};

// Reads through windows of fixed size, so memory is bounded for files, lines and elements of any
// size. For one thread at a time.
class Documents {
 public:
  struct Limits {
    std::size_t document = json::max_document_size;
    std::size_t window = json::max_document_size + json::max_document_size / 4;
  };

  // `input` must outlive this object.
  explicit Documents(Input& input) : Documents(input, Limits{}) {}
  Documents(Input& input, const Limits& limits);

  // Returns the next documents, at least one; none at the end. Throws the exceptions of the input.
  std::vector<Document> next();
  // Owns the texts of the documents that next() returned last, until the next call unless shared.
  std::shared_ptr<const char[]> window() const { return window_; }

 private:
  enum class Format : std::uint8_t { unknown, lines, array, answers, objects };
  // What is expected next outside values, in the order of the rules.
  enum class Expected : std::uint8_t {
    end_of_file,
    answer,
    object,
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

  bool needs_more() const;
  bool begins_page(char character) const;
  void fill();
  void recognise();
  void scan_line();
  void scan_items();
  void take_mark(char mark, Expected next);
  void take_value(Role role);
  void end_value(ValueScanner::State state);
  // Reading ends after malformed_json.
  void refuse(std::uint64_t line, std::uint64_t item, Code code, std::string message);
  std::string place() const;

  Input& input_;
  Limits limits_;
  std::shared_ptr<Windows> windows_;
  std::shared_ptr<char[]> window_;
  std::size_t size_ = 0;   // of the content of the window
  std::size_t begin_ = 0;  // of the current value
  std::size_t at_ = 0;     // the next byte to scan
  bool is_input_read_ = false;
  bool is_finished_ = false;
  std::vector<Document> documents_;

  Format format_ = Format::unknown;
  Expected expected_ = Expected::end_of_file;
  ValueScanner scanner_;
  Role role_ = Role::none;   // of the current value
  bool is_dropped_ = false;  // the current value is too long, or not needed
  std::uint64_t line_ = 1;
  std::uint64_t value_line_ = 0;
  std::uint64_t items_ = 0;
  std::uint64_t answer_line_ = 0;
  bool is_items_ = false;    // the current member is `items`
  bool has_items_ = false;   // in the current answer
  bool is_in_page_ = false;  // in an answer that is an element of an array
};

}  // namespace comptroller::load
