#include "sqlite_format/src/key_sorter.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "sqlite_format/src/background.hpp"
#include "sqlite_format/src/bytes.hpp"

namespace sqlite_format {

namespace {

// The size of one run. While a thread sorts and writes a run, the next one is collected.
constexpr std::size_t max_bytes = std::size_t{5} << 20U;

// Returns up to eight bytes from `offset` as a number that has the same order as the bytes.
std::uint64_t number_at(std::string_view key, std::size_t offset) {
  std::uint64_t number = 0;
  if (key.size() >= offset + sizeof number) {  // a copy of constant size is faster
    std::memcpy(&number, key.data() + offset, sizeof number);
  } else if (key.size() > offset) {
    std::memcpy(&number, key.data() + offset, key.size() - offset);
  }
  return big_endian(number);
}

}  // namespace

void KeySorter::add(std::string_view key) {
  if (keys_.bytes.size() + key.size() + (keys_.entries.size() + 1) * sizeof(Entry) > max_bytes) {
    spill();
  }
  keys_.entries.push_back({number_at(key, 0), number_at(key, sizeof(std::uint64_t)),
                           static_cast<std::uint32_t>(keys_.bytes.size()),
                           static_cast<std::uint32_t>(key.size())});
  keys_.bytes += key;
}

void KeySorter::Keys::sort() {
  const auto is_less = [this](const Entry& left, const Entry& right) {
    if (left.first != right.first) return left.first < right.first;
    if (left.second != right.second) return left.second < right.second;
    return bytes_of(left) < bytes_of(right);
  };
  if (!std::ranges::is_sorted(entries, is_less)) std::ranges::sort(entries, is_less);
}

void KeySorter::spill() {
  if (written_.valid()) written_.get();
  std::swap(keys_, spilled_);
  written_ = run_in_background([this] { write_run(); });
}

void KeySorter::write_run() {
  spilled_.sort();
  if (!file_) file_ = std::make_unique<RecordFile>(make_file_());
  for (const Entry& entry : spilled_.entries) file_->append(spilled_.bytes_of(entry));
  runs_.push_back(file_->flush());
  spilled_.bytes.clear();
  spilled_.entries.clear();
}

void KeySorter::visit_sorted(const std::function<void(std::string_view)>& visit) {
  if (written_.valid()) return merge(visit);
  keys_.sort();
  for (const Entry& entry : keys_.entries) visit(keys_.bytes_of(entry));
}

void KeySorter::merge(const std::function<void(std::string_view)>& visit) {
  spill();
  written_.get();
  keys_ = {};
  spilled_ = {};
  std::vector<RecordFile::Cursor> cursors;
  cursors.reserve(runs_.size());
  std::vector<RecordFile::Cursor*> heap;  // the first has the least key
  std::uint64_t begin = 0;
  for (const std::uint64_t end : runs_) {
    heap.push_back(&cursors.emplace_back(*file_, std::exchange(begin, end), end));
    heap.back()->next();
  }
  const auto is_later = [](const RecordFile::Cursor* left, const RecordFile::Cursor* right) {
    return left->record() > right->record();
  };
  std::ranges::make_heap(heap, is_later);
  while (!heap.empty()) {
    std::ranges::pop_heap(heap, is_later);
    RecordFile::Cursor* const least = heap.back();
    // If the input is nearly in order, runs overlap little, and the least cursor often remains the
    // least.
    const std::string_view others = heap.size() == 1 ? std::string_view() : heap.front()->record();
    bool has_more = true;
    do {
      visit(least->record());
      has_more = least->next();
    } while (has_more && (heap.size() == 1 || least->record() < others));
    if (has_more) {
      std::ranges::push_heap(heap, is_later);
    } else {
      heap.pop_back();
    }
  }
}

}  // namespace sqlite_format
