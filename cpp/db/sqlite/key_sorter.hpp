// Sorts more keys than fit into memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "files/unnamed_file.hpp"

namespace comptroller::db::sqlite {

// Keys that fill the memory are sorted and written to an unnamed file as a run; the runs are merged
// at the end. For one thread at a time.
class KeySorter {
 public:
  // Keeps temporary files in `folder`.
  explicit KeySorter(std::string folder) : folder_(std::move(folder)) {}

  void add(std::string_view key);
  std::uint64_t size() const { return size_; }
  // Calls `visit` with each key in the order of its bytes, once.
  void visit_sorted(const std::function<void(std::string_view)>& visit);

 private:
  // A key with its first bytes, which decide most comparisons.
  struct Entry {
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    std::uint32_t offset = 0;
    std::uint32_t size = 0;
  };
  struct Run {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };
  class Cursor;

  std::string_view key_of(const Entry& entry) const {
    return std::string_view(keys_).substr(entry.offset, entry.size);
  }
  void sort();
  void spill();
  void merge(const std::function<void(std::string_view)>& visit);

  std::string folder_;
  std::uint64_t size_ = 0;
  std::string keys_;
  std::vector<Entry> entries_;
  std::unique_ptr<files::UnnamedFile> file_;
  std::vector<Run> runs_;
};

}  // namespace comptroller::db::sqlite
