#include <cstring>

#include "load/splitter.hpp"

namespace comptroller::load {

namespace {

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace

bool LineSplitter::split(Window& window, std::vector<Document>& documents) {
  while (documents.size() < most_documents) {
    const void* newline = std::memchr(window.bytes + window.at, '\n', window.size - window.at);
    if (newline == nullptr) return split_rest(window, documents);
    const char* const begin = window.bytes + window.begin;
    const auto length = static_cast<std::size_t>(static_cast<const char*>(newline) - begin);
    if (!is_passing_over_) add({begin, length}, documents);
    is_passing_over_ = false;
    ++line_;
    window.begin += length + 1;
    window.at = window.begin;
  }
  return true;
}

bool LineSplitter::split_rest(Window& window, std::vector<Document>& documents) {
  const std::string_view rest(window.bytes + window.begin, window.size - window.begin);
  window.at = window.size;
  if (window.is_last) {
    if (!is_passing_over_ && !rest.empty()) add(rest, documents);
    window.begin = window.size;
    return false;
  }
  // One byte more may be a carriage return, which does not count.
  if (!is_passing_over_ && rest.size() > largest_ + 1) {
    add(rest, documents);
    is_passing_over_ = true;
  }
  if (is_passing_over_) window.begin = window.size;
  return true;
}

void LineSplitter::add(std::string_view line, std::vector<Document>& documents) const {
  if (line.ends_with('\r')) line.remove_suffix(1);
  Document& document = documents.emplace_back();
  document.line = line_;
  if (line.size() > largest_) {
    document.refusal =
        std::make_unique<const Error>(Code::content_too_large, "a line may hold at most 1 MiB");
    return;
  }
  document.is_blank = is_blank(line);
  document.text = line;
}

}  // namespace comptroller::load
