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

bool ItemSplitter::advance(Bytes& bytes, Batch& batch) {
  while (bytes.more() && is_white_space(bytes.rest().front())) {
    if (bytes.rest().front() == '\n') ++line_;
    bytes.pass(1);
  }
  if (bytes.more()) {
    accept(bytes, batch);
  } else {
    is_ended_ = true;
    if (expected_ != Expected::document) refuse_end(batch);
  }
  return !is_ended_;
}

void ItemSplitter::accept(Bytes& bytes, Batch& batch) {
  const char character = bytes.rest().front();
  if (const std::optional<Expected> next = after_mark(character)) {
    if (character == '}' && !has_items_) {
      batch.refuse(answer_line_, 0, Code::invalid_request, "items: is required in an answer");
    }
    expected_ = *next;
    return bytes.pass(1);
  }
  switch (expected_) {
    case Expected::document:
      return begin_document(bytes, batch);
    case Expected::item_or_end:
    case Expected::item:
      return take_value(Role::item, bytes, batch);
    case Expected::name_or_end:
    case Expected::name:
      if (character != '"') break;
      return take_value(Role::name, bytes, batch);
    case Expected::member:
      return take_member(bytes, batch);
    case Expected::comma_or_end_of_items:
    case Expected::colon:
    case Expected::comma_or_end_of_answer:
      break;
  }
  refuse_unexpected(character, batch);
}

std::optional<ItemSplitter::Expected> ItemSplitter::after_mark(char character) const {
  struct Mark {
    Expected expected;
    char character;
    Expected next;
  };
  using enum Expected;
  static constexpr std::array<Mark, 7> marks{{{item_or_end, ']', comma_or_end_of_answer},
                                              {comma_or_end_of_items, ']', comma_or_end_of_answer},
                                              {comma_or_end_of_items, ',', item},
                                              {name_or_end, '}', document},
                                              {comma_or_end_of_answer, '}', document},
                                              {comma_or_end_of_answer, ',', name},
                                              {colon, ':', member}}};
  for (const Mark& mark : marks) {
    if (mark.expected != expected_ || mark.character != character) continue;
    return character == ']' && format_ == Format::array ? document : mark.next;
  }
  return std::nullopt;
}

void ItemSplitter::begin_document(Bytes& bytes, Batch& batch) {
  const bool is_array = format_ == Format::array;
  const char character = bytes.rest().front();
  if (character != (is_array ? '[' : '{') || (is_array && is_begun_)) {
    return refuse_unexpected(character, batch);
  }
  is_begun_ = true;
  has_items_ = false;
  answer_line_ = line_;
  expected_ = is_array ? Expected::item_or_end : Expected::name_or_end;
  bytes.pass(1);
}

void ItemSplitter::take_member(Bytes& bytes, Batch& batch) {
  const char character = bytes.rest().front();
  if (is_items_ && !has_items_ && character == '[') {
    has_items_ = true;
    expected_ = Expected::item_or_end;
    return bytes.pass(1);
  }
  if (is_items_ && !is_separator(character)) {
    batch.refuse(line_, 0, Code::invalid_request,
                 has_items_ ? "items: is there twice in an answer" : "items: must be an array");
    has_items_ = true;
  }
  take_value(Role::member, bytes, batch);
}

void ItemSplitter::take_value(Role role, Bytes& bytes, Batch& batch) {
  const char first = bytes.rest().front();
  if (is_separator(first)) return refuse_unexpected(first, batch);
  const bool is_item = role == Role::item;
  const std::uint64_t item = is_item ? ++items_ : 0;
  const std::uint64_t line = line_;
  bytes.keep(batch.bytes, role == Role::member ? 0 : largest_);
  const Ending ending = pass_value(bytes, line_);
  const std::optional<std::string_view> text = bytes.kept();
  if (is_item && !text) {
    batch.refuse(line, item, Code::content_too_large, "an item may hold at most 1 MiB");
  }
  if (ending != Ending::whole) return end_inside(role, ending, line, bytes, batch);
  if (is_item && text) batch.add(line, item, *text);
  if (role == Role::name) {
    is_items_ = text == "\"items\"";
    if (text) batch.bytes.resize(batch.bytes.size() - text->size());
  }
  expected_ = is_item              ? Expected::comma_or_end_of_items
              : role == Role::name ? Expected::colon
                                   : Expected::comma_or_end_of_answer;
}

void ItemSplitter::end_inside(Role role, Ending ending, std::uint64_t begin, const Bytes& bytes,
                              Batch& batch) {
  is_ended_ = true;
  const bool is_item = role == Role::item;
  const std::uint64_t item = is_item ? items_ : 0;
  if (ending == Ending::wrong_bracket) {
    batch.refuse(line_, item, Code::malformed_json,
                 shown(bytes.rest().front()) +
                     " closes a bracket of the other kind; nothing after it is read");
  } else if (ending == Ending::unclosed_string) {
    batch.refuse(line_, item, Code::malformed_json,
                 "a string is not closed on its line; nothing after it is read");
  } else if (is_item) {
    batch.refuse(begin, item, Code::malformed_json, "the file ends inside this item");
  } else {
    refuse_end(batch);
  }
}

void ItemSplitter::refuse_end(Batch& batch) const {
  batch.refuse(line_, 0, Code::malformed_json,
               std::string("the file ends before its ") +
                   (format_ == Format::array ? "array" : "answer") + " does, " + place());
}

void ItemSplitter::refuse_unexpected(char character, Batch& batch) {
  // In the order of Expected.
  static constexpr std::array<std::string_view, 9> phrases{
      "the end of the file", "a value or ']'", "a value", "a comma or ']'",
      "a member or '}'",     "a member",       "a colon", "a value",
      "a comma or '}'"};
  std::string_view phrase = phrases[static_cast<std::size_t>(expected_)];
  if (expected_ == Expected::document && format_ == Format::answers) {
    phrase = "another answer or the end of the file";
  }
  is_ended_ = true;
  batch.refuse(line_, 0, Code::malformed_json,
               std::string(phrase) + " must come " + place() + ", not " + shown(character) +
                   "; nothing after it is read");
}

std::string ItemSplitter::place() const {
  if (items_ == 0) return "before the first item";
  return "after item " + std::to_string(items_);
}

}  // namespace comptroller::load
