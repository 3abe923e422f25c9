#include "load/documents.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "json/special.hpp"

namespace comptroller::load {

namespace {

using State = ValueScanner::State;

// The bytes that one call of `next` returns at most. The records parsed from them should stay in
// the processor's cache, also if the documents are very short.
constexpr std::size_t batch_bytes = std::size_t{1} << 18U;
constexpr std::size_t max_documents = std::size_t{1} << 13U;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
constexpr std::string_view white_space = " \t\r\n";
constexpr std::string_view separators = ",:]}";  // no value begins with one of these

bool is_among(std::string_view set, char character) {
  return set.find(character) != std::string_view::npos;
}

// Returns what to do with text that is not UTF-8 JSON by its first bytes; null if it may be.
const char* other_encoding(std::string_view text) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
    return "the text is UTF-16; convert it to UTF-8, for example with iconv -f UTF-16 -t UTF-8";
  }
  constexpr std::string_view gzip = "\x1F\x8B";
  if (text.starts_with(gzip)) return "the file is compressed with gzip; decompress it first";
  return nullptr;
}

// Whether text that begins with { is a list answer rather than a record.
bool is_answer(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(white_space, 1), text.size()));
  return text.starts_with("\"items\"") || text.starts_with("\"next_page_cursor\"") ||
         text.starts_with("\"orchestrations\"");
}

// Whether text that begins with { is an object printed on several lines. An NDJSON line that was
// cut short is not: another line that begins with { follows it, or nothing.
bool is_on_several_lines(std::string_view text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return false;
  const std::string_view line = text.substr(0, text.find_last_not_of(white_space, end) + 1);
  const std::size_t next = text.find_first_not_of(white_space, end);
  return is_among("{[,", line.back()) && next != std::string_view::npos && text[next] != '{';
}

std::string shown(char character) {
  constexpr std::string_view digits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(character);
  if (byte > 0x20 && byte < 0x7F) return std::string("'") + character + "'";
  return std::string("byte 0x") + digits[byte >> 4U] + digits[byte & 0xFU];
}

using ByteSet = std::array<bool, 256>;

constexpr ByteSet bytes_of(std::string_view text) {
  ByteSet set{};
  for (const char character : text) set[static_cast<unsigned char>(character)] = true;
  return set;
}

constexpr ByteSet structural = bytes_of("\"{}[]\n");
constexpr ByteSet ends_bare = bytes_of(" \t\r\n,:\"{}[]");

std::size_t find(const ByteSet& set, std::string_view text, std::size_t at) {
  while (at < text.size() && !set[static_cast<unsigned char>(text[at])]) ++at;
  return at;
}

}  // namespace

void ValueScanner::begin(char first) {
  *this = {};
  is_bare_ = !structural[static_cast<unsigned char>(first)];
}

ValueScanner::State ValueScanner::scan(std::string_view text, std::size_t& at,
                                       std::uint64_t& line) {
  if (is_bare_) {
    at = find(ends_bare, text, at);
    return at < text.size() ? State::ended : State::inside;
  }
  do {
    if (is_in_string_) {
      scan_string(text, at);
    } else {
      at = find(structural, text, at);
    }
    if (at == text.size()) return State::inside;
    const char character = text[at];
    if (character == '"') {
      is_in_string_ = !is_in_string_;
    } else if (character == '\n') {
      if (is_in_string_) return State::unclosed_string;
      ++line;
    } else if (!match(character)) {
      return State::wrong_bracket;
    }
    ++at;
  } while (depth_ > 0 || is_in_string_);
  return State::ended;
}

// Advances `at` to the closing quote, or to a line end before it.
void ValueScanner::scan_string(std::string_view text, std::size_t& at) {
  while (at < text.size()) {
    while (!is_escaped_ && text.size() - at >= 8 && !json::has_special(text.data() + at)) at += 8;
    for (const std::size_t stop = std::min(at + 8, text.size()); at < stop; ++at) {
      if (text[at] == '\n' || (text[at] == '"' && !is_escaped_)) return;
      is_escaped_ = text[at] == '\\' && !is_escaped_;
    }
  }
}

// Opens or closes a container; returns false if the open container is known to have the other
// bracket.
bool ValueScanner::match(char bracket) {
  const bool is_opening = bracket == '[' || bracket == '{';
  if (!is_opening) --depth_;
  const std::uint64_t level = depth_ < 64 ? std::uint64_t{1} << depth_ : 0;
  const std::uint64_t array = bracket == '[' || bracket == ']' ? level : 0;
  if (!is_opening) return (arrays_ & level) == array;
  arrays_ = (arrays_ & ~level) | array;
  ++depth_;
  return true;
}

// The grammar of arrays and answers: what is accepted in a state, and which state follows.
struct Documents::Rule {
  std::string_view accepted;
  std::string_view marks;
  std::array<Expected, 2> next{};  // after each of `marks`
  Role value = Role::none;
  Expected after_value{};
};

const Documents::Rule& Documents::rule_of(Expected expected) {
  using enum Expected;
  static constexpr std::array<Rule, 11> rules{{
      {"the end of the file", ""},
      {"another answer or the end of the file", "{", {name_or_end}},
      {"another object or the end of the file", "", {}, Role::item, object},
      {"a value or ']'", "]", {comma_or_end_of_answer}, Role::item, comma_or_end_of_items},
      {"a value", "", {}, Role::item, comma_or_end_of_items},
      {"a comma or ']'", ",]", {item, comma_or_end_of_answer}},
      {"a member or '}'", "}", {answer}, Role::name, colon},
      {"a member", "", {}, Role::name, colon},
      {"a colon", ":", {member}},
      {"a value", "", {}, Role::member, comma_or_end_of_answer},
      {"a comma or '}'", ",}", {name, answer}},
  }};
  return rules[static_cast<std::size_t>(expected)];
}

std::shared_ptr<char[]> Windows::take() {
  std::unique_ptr<char[]> memory;
  {
    const std::lock_guard lock(mutex_);
    if (!spares_.empty()) {
      memory = std::move(spares_.back());
      spares_.pop_back();
    }
  }
  if (!memory) memory.reset(new char[bytes_]);
  return {memory.release(), [self = shared_from_this()](char* done) { self->give(done); }};
}

void Windows::give(char* memory) {
  std::unique_ptr<char[]> owned(memory);
  const std::lock_guard lock(mutex_);
  if (spares_.size() < spares_.capacity()) spares_.push_back(std::move(owned));
}

// A line of the maximum size is followed by a carriage return and a line feed.
Documents::Documents(Input& input, const Limits& limits)
    : input_(input),
      limits_{limits.document, std::max(limits.window, limits.document + 3)},
      windows_(std::make_shared<Windows>(limits_.window + json::padding)) {}

std::vector<Document> Documents::next() {
  while (documents_.empty() && !is_finished_) {
    if (at_ == size_ || needs_more()) fill();
    if (format_ == Format::unknown) recognise();
    const std::size_t end = std::min(at_ + batch_bytes, size_);
    while (!is_finished_ && at_ < end && documents_.size() < max_documents && !needs_more()) {
      format_ == Format::lines ? scan_line() : scan_items();
    }
    if (is_finished_ || at_ < size_ || !is_input_read_) continue;
    is_finished_ = true;
    const bool is_complete = role_ == Role::none && expected_ <= Expected::object;
    if (!is_complete) end_value(format_ == Format::lines ? State::ended : State::inside);
  }
  return std::exchange(documents_, {});
}

// Whether the window may end within the bytes that tell an answer from a record. A window that
// begins here is full.
bool Documents::needs_more() const {
  constexpr std::size_t enough = 4096;
  return format_ == Format::array && role_ == Role::none && !is_input_read_ && at_ > 0 &&
         size_ - at_ < enough;
}

// Whether the next element of an array, which begins with `character`, is an answer.
bool Documents::begins_page(char character) const {
  return format_ == Format::array && !is_in_page_ && character == '{' &&
         is_answer({window_.get() + at_, size_ - at_});
}

// Fills another window, which begins with the current value unless that is too long. Reads about
// one batch, so that it is parsed while it is in the processor's cache.
void Documents::fill() {
  if (at_ - begin_ > limits_.document + 1) is_dropped_ = true;
  if (role_ == Role::none || is_dropped_) begin_ = at_;
  size_ -= begin_;
  std::shared_ptr<char[]> window = windows_->take();
  if (size_ > 0) std::memcpy(window.get(), window_.get() + begin_, size_);
  window_ = std::move(window);
  at_ -= std::exchange(begin_, 0);
  const std::size_t wanted = std::min(size_ + batch_bytes, limits_.window);
  while (size_ < wanted && !is_input_read_) {
    const std::size_t count = input_.read(window_.get() + size_, wanted - size_);
    is_input_read_ = count == 0;
    size_ += count;
  }
  std::memset(window_.get() + size_, 0, json::padding);
}

void Documents::recognise() {
  const std::string_view text(window_.get(), size_);
  if (const char* const why = other_encoding(text)) {
    return refuse(line_, 0, Code::malformed_json, why);
  }
  if (text.starts_with(byte_order_mark)) at_ = byte_order_mark.size();
  if (input_.has_only_lines()) {
    format_ = Format::lines;
    return;
  }
  const std::size_t first = std::min(text.find_first_not_of(white_space, at_), size_);
  const std::string_view content = text.substr(first);
  format_ = content.starts_with('[')                                   ? Format::array
            : content.starts_with('{') && is_answer(content)           ? Format::answers
            : content.starts_with('{') && is_on_several_lines(content) ? Format::objects
                                                                       : Format::lines;
  if (format_ == Format::lines) return;
  line_ += static_cast<std::uint64_t>(std::ranges::count(text.substr(0, first), '\n'));
  at_ = first;
  if (format_ == Format::objects) {
    expected_ = Expected::object;
    return;
  }
  take_mark(text[first], format_ == Format::array ? Expected::item_or_end : Expected::name_or_end);
}

void Documents::scan_line() {
  if (role_ == Role::none) take_value(Role::item);
  const std::size_t end = std::string_view(window_.get(), size_).find('\n', at_);
  at_ = std::min(end, size_);
  if (at_ == size_) return;
  end_value(State::ended);
  ++line_;
  ++at_;
}

// Reads one byte between values, or a value up to the end of the window.
void Documents::scan_items() {
  if (role_ != Role::none) {
    const auto state = scanner_.scan({window_.get(), size_}, at_, line_);
    if (state != State::inside) end_value(state);
    return;
  }
  const char character = window_.get()[at_];
  const Rule& rule = rule_of(expected_);
  if (is_among(white_space, character)) {
    line_ += character == '\n' ? 1 : 0;
    ++at_;
  } else if (rule.value == Role::item && begins_page(character)) {
    is_in_page_ = true;
    take_mark(character, Expected::name_or_end);
  } else if (is_among(rule.marks, character)) {
    take_mark(character, rule.next[rule.marks.find(character)]);
  } else if (rule.value == Role::none || is_among(separators, character) ||
             (rule.value == Role::name && character != '"')) {
    refuse(line_, 0, Code::malformed_json,
           std::string(rule.accepted) + " is expected " + place() + ", not " + shown(character) +
               "; nothing after it is read");
  } else if (rule.value == Role::member && is_items_ && !has_items_ && character == '[') {
    has_items_ = true;
    take_mark(character, Expected::item_or_end);
  } else {
    take_value(rule.value);
  }
}

void Documents::take_mark(char mark, Expected next) {
  if (mark == '{') {
    has_items_ = false;
    answer_line_ = line_;
  } else if (mark == '}' && !has_items_) {
    refuse(answer_line_, 0, Code::invalid_request, "items: is required in an answer");
  }
  expected_ = next;
  if (format_ == Format::array && !is_in_page_ && mark == ']') expected_ = Expected::end_of_file;
  if (is_in_page_ && mark == '}') {
    is_in_page_ = false;
    expected_ = Expected::comma_or_end_of_items;
  }
  ++at_;
}

void Documents::take_value(Role role) {
  if (role == Role::member && is_items_) {
    refuse(line_, 0, Code::invalid_request,
           has_items_ ? "items: appears more than once in an answer" : "items: must be an array");
    has_items_ = true;
  }
  role_ = role;
  begin_ = at_;
  value_line_ = line_;
  is_dropped_ = role == Role::member;
  if (role == Role::item && format_ != Format::lines) ++items_;
  scanner_.begin(window_.get()[at_]);
}

void Documents::end_value(ValueScanner::State state) {
  const bool is_line = format_ == Format::lines;
  const Role role = std::exchange(role_, Role::none);
  const std::uint64_t item = role == Role::item ? items_ : 0;
  std::string_view text(window_.get() + begin_, at_ - begin_);
  if (is_line && text.ends_with('\r')) text.remove_suffix(1);
  is_dropped_ |= text.size() > limits_.document;
  if (role == Role::item && is_dropped_) {
    refuse(value_line_, item, Code::content_too_large,
           std::string(is_line ? "a line" : "an item") + " must have at most 1 MiB");
  }
  if (state == State::ended) {
    if (role == Role::item && !is_dropped_) {
      const bool is_blank =
          is_line && text.find_first_not_of(white_space) == std::string_view::npos;
      documents_.push_back({value_line_, item, text, is_blank, nullptr});
    }
    is_items_ = role == Role::name && !is_dropped_ && text == "\"items\"";
    expected_ = rule_of(expected_).after_value;
  } else if (state == State::wrong_bracket) {
    refuse(line_, item, Code::malformed_json,
           shown(window_.get()[at_]) + " closes another kind of bracket; nothing after it is read");
  } else if (state == State::unclosed_string) {
    refuse(line_, item, Code::malformed_json,
           "a string is not closed on its line; nothing after it is read");
  } else if (role == Role::item) {
    refuse(value_line_, item, Code::malformed_json, "the file ends inside this item");
  } else {
    const std::string whole = format_ == Format::array && !is_in_page_ ? "array" : "answer";
    refuse(line_, 0, Code::malformed_json, "the file ends inside its " + whole + ", " + place());
  }
}

void Documents::refuse(std::uint64_t line, std::uint64_t item, Code code, std::string message) {
  is_finished_ |= code == Code::malformed_json;
  documents_.push_back(
      {line, item, {}, false, std::make_unique<const Error>(code, std::move(message))});
}

std::string Documents::place() const {
  if (items_ == 0) return "before the first item";
  return "after item " + std::to_string(items_);
}

}  // namespace comptroller::load
