#include <array>

#include "load/splitter.hpp"

namespace comptroller::load {

namespace {

std::string shown(char character) {
  constexpr std::string_view digits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(character);
  if (byte > 0x20 && byte < 0x7F) return std::string("'") + character + "'";
  return std::string("byte 0x") + digits[byte >> 4U] + digits[byte & 0xFU];
}

// A byte that can begin no value, so that one is missing before it.
bool is_separator(char character) {
  return character == ',' || character == ':' || character == ']' || character == '}';
}

}  // namespace

bool ItemSplitter::split(Window& window, std::vector<Document>& documents) {
  while (window.at < window.size && documents.size() < most_documents && !is_broken_) {
    const char character = window.bytes[window.at];
    if (role_ != Role::none) {
      go_on(window, documents);
    } else if (is_white_space(character)) {
      if (character == '\n') ++line_;
      ++window.at;
    } else {
      accept(character, window, documents);
    }
  }
  if (!is_kept_) window.begin = window.at;
  if (is_broken_) return false;
  if (!window.is_last || window.at < window.size) return true;
  end_file(documents);
  return false;
}

void ItemSplitter::accept(char character, Window& window, std::vector<Document>& documents) {
  if (const std::optional<Expected> next = after_mark(character)) {
    if (character == '}' && !has_items_) refuse_answer(documents);
    expected_ = *next;
    ++window.at;
    return;
  }
  switch (expected_) {
    case Expected::document:
      return begin_document(character, window, documents);
    case Expected::item_or_end:
    case Expected::item:
      return begin_value(Role::item, character, window, documents);
    case Expected::name_or_end:
    case Expected::name:
      if (character != '"') break;
      return begin_value(Role::name, character, window, documents);
    case Expected::member:
      return begin_member(character, window, documents);
    case Expected::comma_or_end_of_items:
    case Expected::colon:
    case Expected::comma_or_end_of_answer:
      break;
  }
  refuse_unexpected(character, documents);
}

std::optional<ItemSplitter::Expected> ItemSplitter::after_mark(char character) const {
  const Expected after_items =
      format_ == Format::array ? Expected::document : Expected::comma_or_end_of_answer;
  switch (expected_) {
    case Expected::item_or_end:
      if (character == ']') return after_items;
      break;
    case Expected::comma_or_end_of_items:
      if (character == ']') return after_items;
      if (character == ',') return Expected::item;
      break;
    case Expected::name_or_end:
      if (character == '}') return Expected::document;
      break;
    case Expected::comma_or_end_of_answer:
      if (character == '}') return Expected::document;
      if (character == ',') return Expected::name;
      break;
    case Expected::colon:
      if (character == ':') return Expected::member;
      break;
    default:
      break;
  }
  return std::nullopt;
}

void ItemSplitter::begin_document(char character, Window& window,
                                  std::vector<Document>& documents) {
  const bool is_array = format_ == Format::array;
  if (character != (is_array ? '[' : '{') || (is_array && is_begun_)) {
    return refuse_unexpected(character, documents);
  }
  is_begun_ = true;
  has_items_ = false;
  answer_line_ = line_;
  expected_ = is_array ? Expected::item_or_end : Expected::name_or_end;
  ++window.at;
}

void ItemSplitter::begin_member(char character, Window& window, std::vector<Document>& documents) {
  if (is_items_ && !has_items_ && character == '[') {
    has_items_ = true;
    expected_ = Expected::item_or_end;
    ++window.at;
    return;
  }
  if (is_items_ && !is_separator(character)) {
    refuse(line_, 0, Code::invalid_request,
           has_items_ ? "items: is there twice in an answer" : "items: must be an array",
           documents);
    has_items_ = true;
  }
  begin_value(Role::member, character, window, documents);
}

void ItemSplitter::refuse_answer(std::vector<Document>& documents) const {
  refuse(answer_line_, 0, Code::invalid_request, "items: is required in an answer", documents);
}

void ItemSplitter::begin_value(Role role, char character, Window& window,
                               std::vector<Document>& documents) {
  if (is_separator(character)) return refuse_unexpected(character, documents);
  role_ = role;
  value_ = ValueScan(character);
  value_line_ = line_;
  is_kept_ = role != Role::member;
  window.begin = window.at;
  if (role == Role::item) ++items_;
}

void ItemSplitter::go_on(Window& window, std::vector<Document>& documents) {
  const char* const stop = value_.scan(window.bytes + window.at, window.bytes + window.size);
  window.at = static_cast<std::size_t>(stop - window.bytes);
  line_ += value_.take_newlines();
  if (is_kept_ && window.at - window.begin > largest_) {
    is_kept_ = false;
    if (role_ == Role::item) {
      refuse(value_line_, items_, Code::content_too_large, "an item may hold at most 1 MiB",
             documents);
    }
  }
  const std::uint64_t item = role_ == Role::item ? items_ : 0;
  switch (value_.state()) {
    case ValueScan::State::unfinished:
      return;
    case ValueScan::State::finished:
      return end_value(window, documents);
    case ValueScan::State::wrong_bracket:
      is_broken_ = true;
      return refuse(line_, item, Code::malformed_json,
                    shown(*stop) + " closes a bracket of the other kind; nothing after it is read",
                    documents);
    case ValueScan::State::unclosed_string:
      is_broken_ = true;
      return refuse(line_, item, Code::malformed_json,
                    "a string is not closed on its line; nothing after it is read", documents);
  }
}

void ItemSplitter::end_value(const Window& window, std::vector<Document>& documents) {
  const std::string_view text(window.bytes + window.begin, window.at - window.begin);
  if (role_ == Role::item) {
    if (is_kept_) {
      Document& document = documents.emplace_back();
      document.line = value_line_;
      document.item = items_;
      document.text = text;
    }
    expected_ = Expected::comma_or_end_of_items;
  } else if (role_ == Role::name) {
    is_items_ = is_kept_ && text == "\"items\"";
    expected_ = Expected::colon;
  } else {
    expected_ = Expected::comma_or_end_of_answer;
  }
  role_ = Role::none;
  is_kept_ = false;
}

void ItemSplitter::end_file(std::vector<Document>& documents) {
  if (role_ == Role::item) {
    refuse(value_line_, items_, Code::malformed_json, "the file ends inside this item", documents);
  } else if (role_ != Role::none || expected_ != Expected::document) {
    refuse(line_, 0, Code::malformed_json,
           std::string("the file ends before its ") +
               (format_ == Format::array ? "array" : "answer") + " does, " + place(),
           documents);
  }
}

void ItemSplitter::refuse(std::uint64_t line, std::uint64_t item, Code code, std::string message,
                          std::vector<Document>& documents) const {
  Document& document = documents.emplace_back();
  document.line = line;
  document.item = item;
  document.refusal = std::make_unique<const Error>(code, std::move(message));
}

void ItemSplitter::refuse_unexpected(char character, std::vector<Document>& documents) {
  // In the order of Expected.
  static constexpr std::array<std::string_view, 9> phrases{
      "the end of the file", "a value or ']'", "a value", "a comma or ']'",
      "a member or '}'",     "a member",       "a colon", "a value",
      "a comma or '}'"};
  std::string_view phrase = phrases[static_cast<std::size_t>(expected_)];
  if (expected_ == Expected::document && format_ == Format::answers) {
    phrase = "another answer or the end of the file";
  }
  is_broken_ = true;
  refuse(line_, 0, Code::malformed_json,
         std::string(phrase) + " must come " + place() + ", not " + shown(character) +
             "; nothing after it is read",
         documents);
}

std::string ItemSplitter::place() const {
  if (items_ == 0) return "before the first item";
  return "after item " + std::to_string(items_);
}

}  // namespace comptroller::load
