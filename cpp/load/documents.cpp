#include "load/documents.hpp"

#include <algorithm>

#include "load/splitter.hpp"

namespace comptroller::load {

namespace {

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

// The splitter for what the first window begins with; moves the window to where that starts.
std::unique_ptr<Splitter> recognise(Window& window, std::size_t largest) {
  const std::string_view text(window.bytes, window.size);
  if (text.starts_with(byte_order_mark)) window.begin = window.at = byte_order_mark.size();
  const std::size_t first = skip_white_space(text, window.at);
  const bool is_array = first < text.size() && text[first] == '[';
  if (!is_array && (first == text.size() || text[first] != '{' || !is_answer(text.substr(first)))) {
    return std::make_unique<LineSplitter>(largest);
  }
  window.begin = window.at = first;
  const auto newlines =
      std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(first), '\n');
  return std::make_unique<ItemSplitter>(
      is_array ? ItemSplitter::Format::array : ItemSplitter::Format::answers,
      1 + static_cast<std::uint64_t>(newlines), largest);
}

}  // namespace

Documents::Documents(Input& input, const Limits& limits) : input_(input), limits_(limits) {
  // A line of the largest size comes with a carriage return and a line feed.
  limits_.window = std::max(limits_.window, limits_.document + 3);
}

Documents::~Documents() = default;

bool Documents::next(Batch& batch) {
  batch.documents.clear();
  while (!is_finished_ && batch.documents.empty()) {
    Window window;
    window.size = fill(batch);
    window.bytes = batch.bytes.data();
    window.at = scanned_;
    window.is_last = is_at_end_;
    if (!splitter_) splitter_ = recognise(window, limits_.document);
    is_finished_ = !splitter_->split(window, batch.documents);
    rest_.assign(window.bytes + window.begin, window.size - window.begin);
    scanned_ = window.at - window.begin;
  }
  return !batch.documents.empty();
}

std::size_t Documents::fill(Batch& batch) {
  batch.bytes.resize(limits_.window + json::padding);
  std::size_t size = rest_.copy(batch.bytes.data(), rest_.size());
  while (size < limits_.window && !is_at_end_) {
    const std::size_t count = input_.read(batch.bytes.data() + size, limits_.window - size);
    is_at_end_ = count == 0;
    size += count;
    bytes_read_.fetch_add(count, std::memory_order_relaxed);
  }
  return size;
}

}  // namespace comptroller::load
