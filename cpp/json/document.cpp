#include "json/document.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace comptroller::json {

namespace {

namespace dom = simdjson::dom;

// Whether an escape produced half of a surrogate pair, U+D800 to U+DFFF: ED A0..BF in UTF-8.
bool has_surrogate(std::string_view text) {
  for (std::size_t at = text.find('\xED'); at != std::string_view::npos;
       at = text.find('\xED', at + 1)) {
    if (at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) >= 0xA0) return true;
  }
  return false;
}

void refuse_surrogates(std::string_view text) {
  if (has_surrogate(text)) {
    throw Error(Code::malformed_json, "an escape in a string is no Unicode scalar value");
  }
}

// Calls `visit` with the key and value of each member or element; the key of an element is empty.
template <class Visit>
void for_each_child(const dom::element& element, Visit visit) {
  if (element.is_array()) {
    const dom::array array = element.get_array().value_unsafe();
    for (const dom::element child : array) visit(std::string_view(), child);
  } else if (element.is_object()) {
    const dom::object object = element.get_object().value_unsafe();
    for (const auto& [key, child] : object) visit(key, child);
  }
}

void refuse_surrogates(const dom::element& element) {
  if (element.is_string()) return refuse_surrogates(element.get_string().value_unsafe());
  for_each_child(element, [](std::string_view key, const dom::element& child) {
    refuse_surrogates(key);
    refuse_surrogates(child);
  });
}

bool is_digit(char character) {
  return character >= '0' && character <= '9';
}

std::size_t skip_digits(std::string_view text, std::size_t position) {
  while (position < text.size() && is_digit(text[position])) ++position;
  return position;
}

// The end of the RFC 8259 number that begins at `begin`, or `begin` if there is none.
std::size_t end_of_number(std::string_view text, std::size_t begin) {
  std::size_t position = begin;
  if (position < text.size() && text[position] == '-') ++position;
  const std::size_t integer = position;
  position = skip_digits(text, position);
  if (position == integer || (text[integer] == '0' && position > integer + 1)) return begin;
  if (position < text.size() && text[position] == '.') {
    const std::size_t fraction = position + 1;
    position = skip_digits(text, fraction);
    if (position == fraction) return begin;
  }
  if (position < text.size() && (text[position] == 'e' || text[position] == 'E')) {
    std::size_t exponent = position + 1;
    if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-')) ++exponent;
    position = skip_digits(text, exponent);
    if (position == exponent) return begin;
  }
  return position;
}

// The document with each number replaced by 0 and spaces; nullopt if a number is malformed. Strings
// are skipped.
std::optional<std::string> with_plain_numbers(std::string_view document) {
  constexpr std::string_view may_follow = ",]} \t\r\n";
  std::string plain(document);
  for (std::size_t position = 0; position < document.size();) {
    const char character = document[position];
    if (character == '"') {
      for (++position; position < document.size() && document[position] != '"'; ++position) {
        if (document[position] == '\\') ++position;
      }
      ++position;
    } else if (character == '-' || is_digit(character)) {
      const std::size_t end = end_of_number(document, position);
      if (end == position) return std::nullopt;
      if (end < document.size() && may_follow.find(document[end]) == std::string_view::npos) {
        return std::nullopt;
      }
      plain.replace(position, end - position, end - position, ' ');
      plain[position] = '0';
      position = end;
    } else {
      ++position;
    }
  }
  return plain;
}

// The depth of containers: 1 for a container without another inside.
std::size_t nesting(const dom::element& element) {
  if (!element.is_array() && !element.is_object()) return 0;
  std::size_t deepest = 0;
  for_each_child(element, [&](std::string_view, const dom::element& child) {
    deepest = std::max(deepest, nesting(child));
  });
  return deepest + 1;
}

[[noreturn]] void throw_parse_failure(simdjson::error_code failure) {
  switch (failure) {
    case simdjson::CAPACITY:
      throw Error(Code::content_too_large, "the document is larger than 1 MiB");
    case simdjson::MEMALLOC:
      throw Error(Code::unavailable, "out of memory");
    case simdjson::DEPTH_ERROR:
      throw Error(Code::malformed_json, "values are nested deeper than 32");
    case simdjson::UTF8_ERROR:
      throw Error(Code::malformed_json, "the text is not valid UTF-8");
    case simdjson::STRING_ERROR:
      throw Error(Code::malformed_json, "a string has an invalid escape");
    case simdjson::UNESCAPED_CHARS:
      throw Error(Code::malformed_json, "a string has a control character that is not escaped");
    case simdjson::UNCLOSED_STRING:
      throw Error(Code::malformed_json, "a string is not closed");
    case simdjson::EMPTY:
      throw Error(Code::malformed_json, "there is no JSON value");
    case simdjson::NUMBER_ERROR:
      throw Error(Code::malformed_json, "a number is malformed");
    default:
      throw Error(Code::malformed_json, "the text is not a JSON value");
  }
}

}  // namespace

Reader::State::State() {
  // The parser allows only empty containers at its last level, so it gets one more.
  if (parser.allocate(largest_document, deepest_nesting + 1) != simdjson::SUCCESS) {
    throw Error(Code::unavailable, "out of memory");
  }
}

dom::object Reader::State::parse(std::string_view document, bool is_padded) {
  if (document.size() > largest_document) {
    throw Error(Code::content_too_large, "the document is larger than 1 MiB");
  }
  dom::element root;
  auto failure = parser.parse(document.data(), document.size(), !is_padded).get(root);
  if (failure == simdjson::SUCCESS && nesting(root) > deepest_nesting) {
    failure = simdjson::DEPTH_ERROR;
  }
  if (failure == simdjson::NUMBER_ERROR) refuse_numbers(document);
  if (failure != simdjson::SUCCESS) throw_parse_failure(failure);
  // The parser validated the UTF-8 of the document; only escapes can produce surrogates.
  if (document.find('\\') != std::string_view::npos) refuse_surrogates(root);
  dom::object object;
  if (root.get_object().get(object) != simdjson::SUCCESS) {
    throw Error(Code::invalid_request, "the document must be one JSON object");
  }
  return object;
}

// The parser reports numbers that exceed every machine type as malformed; only malformed ones are
// not JSON.
void Reader::State::refuse_numbers(std::string_view document) {
  const std::optional<std::string> plain = with_plain_numbers(document);
  if (!plain) throw_parse_failure(simdjson::NUMBER_ERROR);
  if (const auto failure = parser.parse(*plain).error()) throw_parse_failure(failure);
  throw Error(Code::invalid_request, "a number is out of range");
}

void refuse_duplicates(const dom::element& element) {
  std::vector<std::string_view> keys;
  for_each_child(element, [&](std::string_view key, const dom::element& child) {
    if (element.is_object()) keys.push_back(key);
    refuse_duplicates(child);
  });
  std::ranges::sort(keys);
  if (const auto twice = std::ranges::adjacent_find(keys); twice != keys.end()) {
    throw Error::invalid(*twice, "is there twice");
  }
}

Reader::Reader() : state_(std::make_unique<State>()) {}
Reader::~Reader() = default;

}  // namespace comptroller::json
