#include "json/document.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "json/memory.hpp"
#include "model/error.hpp"

namespace comptroller::json {

namespace {

namespace dom = simdjson::dom;

// Throws if an escape produced half of a surrogate pair, U+D800 to U+DFFF (ED A0..BF in UTF-8).
void refuse_surrogates(std::string_view text) {
  for (std::size_t at = text.find('\xED'); at < text.size(); at = text.find('\xED', at + 1)) {
    if (at + 1 == text.size() || static_cast<unsigned char>(text[at + 1]) < 0xA0) continue;
    throw Error(Code::malformed_json, "an escape in a string is not a Unicode scalar value");
  }
}

// Returns the document with each run of characters that a number can have, outside strings,
// replaced by the result of `replace`.
std::string replace_numbers(std::string_view document, auto replace) {
  constexpr std::string_view starts = "-0123456789";
  constexpr std::string_view parts = "+-.0123456789eE";
  std::string result;
  for (std::size_t at = 0; at < document.size();) {
    std::size_t end = at + 1;
    if (document[at] == '"') {
      while (end < document.size() && document[end] != '"') end += document[end] == '\\' ? 2 : 1;
      end = std::min(end + 1, document.size());
    } else if (starts.find(document[at]) != std::string_view::npos) {
      end = std::min(document.find_first_not_of(parts, at), document.size());
      result += replace(document.substr(at, end - at));
      at = end;
      continue;
    }
    result += document.substr(at, end - at);
    at = end;
  }
  return result;
}

// Shortens each part of a number (integer, fraction, exponent) to two digits. Every valid JSON
// number is then in range, and no invalid number becomes valid.
std::string shorten_number(std::string_view number) {
  std::string result;
  std::size_t digits = 0;
  for (const char character : number) {
    digits = character >= '0' && character <= '9' ? digits + 1 : 0;
    if (digits <= 2) result += character;
  }
  return result;
}

// Whether a document has enough brackets to be nested too deeply. Counting brackets is faster than
// walking the values, and most documents have few.
bool may_be_deep(std::string_view document) {
  std::size_t brackets = 0;
  for (const char bracket : {'[', '{'}) {
    std::size_t at = document.find(bracket);
    for (; at != std::string_view::npos; at = document.find(bracket, at + 1)) {
      if (++brackets > deepest_nesting) return true;
    }
  }
  return false;
}

// Returns the first number that JSON lacks but other programs write, outside strings; an empty text
// if there is none.
std::string_view find_not_finite(std::string_view document) {
  bool is_in_string = false;
  for (std::size_t at = 0; at < document.size(); ++at) {
    if (document[at] == '"') is_in_string = !is_in_string;
    if (is_in_string && document[at] == '\\') ++at;
    if (is_in_string) continue;
    for (const std::string_view number : {"NaN", "Infinity", "-Infinity"}) {
      if (document.substr(at).starts_with(number)) return number;
    }
  }
  return {};
}

Error parse_failure(simdjson::error_code failure, std::string_view document = {}) {
  if (failure == simdjson::MEMALLOC) return {Code::unavailable, "out of memory"};
  constexpr auto messages = std::to_array<std::pair<simdjson::error_code, const char*>>({
      {simdjson::DEPTH_ERROR, "values are nested deeper than 32"},
      {simdjson::UTF8_ERROR, "the text is not valid UTF-8"},
      {simdjson::STRING_ERROR, "a string has an invalid escape, such as half of a surrogate pair"},
      {simdjson::UNESCAPED_CHARS, "a string has a control character that is not escaped"},
      {simdjson::UNCLOSED_STRING, "a string is not closed"},
      {simdjson::EMPTY, "there is no JSON value"},
  });
  for (const auto& [code, message] : messages) {
    if (code == failure) return {Code::malformed_json, message};
  }
  const std::string_view number = find_not_finite(document);
  if (!number.empty()) {
    return {Code::malformed_json, std::string(number) + " is not JSON; write null"};
  }
  if (failure == simdjson::NUMBER_ERROR) return {Code::malformed_json, "a number is malformed"};
  return {Code::malformed_json, "the text is not a JSON value"};
}

// Throws for containers that are nested too deeply, and for surrogates. `depth` containers have the
// element inside.
void check(const dom::element& element, std::size_t depth = 0) {
  if (element.is_string()) return refuse_surrogates(element.get_string().value_unsafe());
  if (depth == deepest_nesting && (element.is_array() || element.is_object())) {
    throw parse_failure(simdjson::DEPTH_ERROR);
  }
  for_each_child(element, [&](std::string_view key, const dom::element& child) {
    refuse_surrogates(key);
    check(child, depth + 1);
  });
}

}  // namespace

Parser::Parser() {
  // The parser accepts only empty containers at its last level, so it gets one more level.
  if (parser_.allocate(max_document_size, deepest_nesting + 1) != simdjson::SUCCESS) {
    throw parse_failure(simdjson::MEMALLOC);
  }
}

dom::object Parser::parse(std::string_view document, bool is_padded) {
  if (document.size() > max_document_size) {
    throw Error(Code::content_too_large, "the document is larger than 1 MiB");
  }
  numbers_.clear();
  dom::element root;
  if (parser_.parse(document.data(), document.size(), !is_padded).get(root) != simdjson::SUCCESS) {
    root = parse_any_numbers(document);
  }
  return checked(root, document);
}

dom::object Parser::parse_keeping_numbers(std::string_view document) {
  numbers_.clear();
  return checked(parse_any_numbers(document), document);
}

dom::object Parser::checked(const dom::element& root, std::string_view document) {
  // The parser validated the UTF-8 of the document, so only escapes can produce surrogates.
  if (may_be_deep(document) || document.find('\\') != std::string_view::npos) check(root);
  dom::object object;
  if (root.get_object().get(object) != simdjson::SUCCESS) {
    throw Error(Code::invalid_request, "the document must be one JSON object");
  }
  return object;
}

// Parses a document that the parser refused, perhaps only for a number beyond every machine type.
dom::element Parser::parse_any_numbers(std::string_view document) {
  dom::element root;
  const auto failure = parser_.parse(replace_numbers(document, shorten_number)).get(root);
  if (failure != simdjson::SUCCESS) throw parse_failure(failure, document);
  const std::string numbered = replace_numbers(document, [&](std::string_view number) {
    numbers_.emplace_back(number);
    return std::to_string(numbers_.size() - 1);
  });
  check_memory(parser_.parse(numbered).get(root));  // nothing else can fail
  return root;
}

std::string Parser::text_of(const dom::element& value) const {
  if (numbers_.empty() || !value.is_number()) return simdjson::minify(value);
  return numbers_.at(static_cast<std::size_t>(value.get_int64().value_unsafe()));
}

void refuse_duplicates(const dom::element& element) {
  std::vector<std::string_view> keys;
  for_each_child(element, [&](std::string_view key, const dom::element& child) {
    if (element.is_object()) keys.push_back(key);
    refuse_duplicates(child);
  });
  std::ranges::sort(keys);
  if (const auto repeated = std::ranges::adjacent_find(keys); repeated != keys.end()) {
    throw Error::invalid(*repeated, "appears more than once");
  }
}

void count_unknown(UnknownMembers& members, std::string_view path, std::uint64_t times) {
  const auto known = members.find(path);
  if (known != members.end()) {
    known->second += times;
  } else if (members.size() < max_unknown_members) {
    members.emplace(path, times);
  } else {
    members["..."] += times;
  }
}

}  // namespace comptroller::json
