#include "load/documents.hpp"

#include <algorithm>

#include "load/splitter.hpp"

namespace comptroller::load {

namespace {

// Bounds what a batch, and the records made of it, spend on documents of hardly any bytes.
constexpr std::size_t most_documents = std::size_t{1} << 13U;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

std::size_t skip_white_space(std::string_view text, std::size_t at) {
  while (at < text.size() && is_white_space(text[at])) ++at;
  return at;
}

// Whether text that begins with { is an answer of a list rather than a record.
bool is_answer(std::string_view text) {
  text.remove_prefix(skip_white_space(text, 1));
  return text.starts_with("\"items\"") || text.starts_with("\"next_page_cursor\"") ||
         text.starts_with("\"orchestrations\"");
}

// The splitter for what the first window begins with; passes to where that starts.
std::unique_ptr<Splitter> recognise(Bytes& bytes, std::size_t largest) {
  if (bytes.more() && bytes.rest().starts_with(byte_order_mark)) {
    bytes.pass(byte_order_mark.size());
  }
  const std::string_view text = bytes.rest();
  const std::size_t first = skip_white_space(text, 0);
  const bool is_array = first < text.size() && text[first] == '[';
  if (!is_array && (first == text.size() || text[first] != '{' || !is_answer(text.substr(first)))) {
    return std::make_unique<LineSplitter>(largest);
  }
  bytes.pass(first);
  const auto newlines = std::ranges::count(text.substr(0, first), '\n');
  return std::make_unique<ItemSplitter>(
      is_array ? ItemSplitter::Format::array : ItemSplitter::Format::answers,
      1 + static_cast<std::uint64_t>(newlines), largest);
}

}  // namespace

void Batch::add(std::uint64_t line, std::uint64_t item, std::string_view text) {
  const bool is_blank = text.find_first_not_of(" \t\r") == std::string_view::npos;
  documents.push_back({line, item, text, item == 0 && is_blank, nullptr});
}

void Batch::refuse(std::uint64_t line, std::uint64_t item, Code code, std::string message) {
  documents.push_back(
      {line, item, {}, false, std::make_unique<const Error>(code, std::move(message))});
}

// A line of the largest size comes with a carriage return and a line feed.
Documents::Documents(Input& input, const Limits& limits)
    : limits_{limits.document, std::max(limits.window, limits.document + 3)},
      bytes_(input, limits_.window) {}

Documents::~Documents() = default;

bool Documents::next(Batch& batch) {
  batch.documents.clear();
  batch.bytes.clear();
  batch.bytes.reserve(limits_.window + json::padding);  // texts must stay where they are
  if (!splitter_) splitter_ = recognise(bytes_, limits_.document);
  while (!is_finished_ && batch.documents.size() < most_documents &&
         batch.bytes.size() + limits_.document < limits_.window) {
    is_finished_ = !splitter_->advance(bytes_, batch);
  }
  batch.bytes.resize(batch.bytes.size() + json::padding);
  return !batch.documents.empty();
}

}  // namespace comptroller::load
