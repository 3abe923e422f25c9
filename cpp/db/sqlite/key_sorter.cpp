#include "db/sqlite/key_sorter.hpp"

#include <algorithm>
#include <cstring>

#include "db/sqlite/background.hpp"
#include "db/sqlite/record_format.hpp"

namespace comptroller::db::sqlite {

namespace {

// The size of one run. While a thread sorts and writes a run, the next one is collected.
constexpr std::size_t max_bytes = std::size_t{5} << 20U;
constexpr std::size_t bytes_a_read = std::size_t{1} << 16U;

// Returns up to eight bytes from `offset` as a number that has the same order as the bytes.
std::uint64_t number_at(std::string_view key, std::size_t offset) {
  if (key.size() <= offset) return 0;
  std::uint64_t number = 0;
  std::memcpy(&number, key.data() + offset, std::min(sizeof number, key.size() - offset));
  return big_endian(number);
}

}  // namespace

// Reads the keys of a run.
class KeySorter::Cursor {
 public:
  Cursor(const files::UnnamedFile& file, const Run& run) : file_(file), run_(run) { next(); }

  std::string_view key() const { return key_; }
  // Returns false at the end.
  bool next() {
    constexpr std::size_t max_size_bytes = max_varint_size;
    if (left() < max_size_bytes) fill(max_size_bytes);
    if (left() == 0) return false;
    const char* at = buffer_.data() + at_;
    const auto size = static_cast<std::size_t>(take_varint(at));
    at_ = static_cast<std::size_t>(at - buffer_.data());
    if (left() < size) fill(size);
    key_ = std::string_view(buffer_).substr(at_, size);
    at_ += size;
    return true;
  }

 private:
  std::size_t left() const { return buffer_.size() - at_; }

  void fill(std::size_t wanted) {
    buffer_.erase(0, at_);
    at_ = 0;
    const std::size_t had = buffer_.size();
    const auto more =
        std::min<std::uint64_t>(std::max(wanted, bytes_a_read), run_.end - run_.begin);
    buffer_.resize(had + more);
    file_.read(run_.begin, buffer_.data() + had, more);
    run_.begin += more;
  }

  const files::UnnamedFile& file_;
  Run run_;
  std::string buffer_;
  std::size_t at_ = 0;
  std::string_view key_;
};

void KeySorter::add(std::string_view key) {
  if (keys_.bytes.size() + key.size() + (keys_.entries.size() + 1) * sizeof(Entry) > max_bytes) {
    spill();
  }
  keys_.entries.push_back({number_at(key, 0), number_at(key, sizeof(std::uint64_t)),
                           static_cast<std::uint32_t>(keys_.bytes.size()),
                           static_cast<std::uint32_t>(key.size())});
  keys_.bytes += key;
  ++size_;
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
  if (!file_) file_ = std::make_unique<files::UnnamedFile>(folder_);
  Run run{file_->size(), 0};
  std::string bytes;
  bytes.reserve(2 * bytes_a_read);
  for (const Entry& entry : spilled_.entries) {
    append_varint(bytes, entry.size);
    bytes += spilled_.bytes_of(entry);
    if (bytes.size() < bytes_a_read) continue;
    file_->append(bytes);
    bytes.clear();
  }
  file_->append(bytes);
  run.end = file_->size();
  runs_.push_back(run);
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
  std::vector<Cursor> cursors;
  cursors.reserve(runs_.size());
  for (const Run& run : runs_) cursors.emplace_back(*file_, run);
  std::vector<Cursor*> heap;  // the first has the least key
  heap.reserve(cursors.size());
  for (Cursor& cursor : cursors) heap.push_back(&cursor);
  const auto is_later = [](const Cursor* left, const Cursor* right) {
    return left->key() > right->key();
  };
  std::ranges::make_heap(heap, is_later);
  while (!heap.empty()) {
    std::ranges::pop_heap(heap, is_later);
    Cursor* const least = heap.back();
    // If the input is nearly in order, runs overlap little, and the least cursor often remains the
    // least.
    const std::string_view others = heap.size() == 1 ? std::string_view() : heap.front()->key();
    bool has_more = true;
    do {
      visit(least->key());
      has_more = least->next();
    } while (has_more && (heap.size() == 1 || least->key() < others));
    if (has_more) {
      std::ranges::push_heap(heap, is_later);
    } else {
      heap.pop_back();
    }
  }
}

}  // namespace comptroller::db::sqlite
