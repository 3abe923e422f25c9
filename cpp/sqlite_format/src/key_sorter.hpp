// Sorts more keys than fit into memory.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sqlite_format/src/record_file.hpp"

namespace sqlite_format {

// A thread sorts each 5 MiB of keys and writes them to an unnamed file as a run. The runs are
// merged at the end. For one thread at a time.
class KeySorter {
 public:
  // `make_file` returns the descriptor of a temporary file; any thread may call it.
  explicit KeySorter(std::function<int()> make_file) : make_file_(std::move(make_file)) {}

  void add(std::string_view key);
  // Calls `visit` with each key, in the order of the bytes of the keys. Call it once.
  void visit_sorted(const std::function<void(std::string_view)>& visit);

 private:
  // A key with its first bytes as a number, which decides most comparisons.
  struct Entry {
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    std::uint32_t offset = 0;
    std::uint32_t size = 0;
  };
  struct Keys {
    void sort();
    std::string_view bytes_of(const Entry& entry) const {
      return std::string_view(bytes).substr(entry.offset, entry.size);
    }

    std::string bytes;
    std::vector<Entry> entries;
  };

  void spill();
  void write_run();
  void merge(const std::function<void(std::string_view)>& visit);

  std::function<int()> make_file_;
  Keys keys_;
  // Used by the thread that writes a run.
  Keys spilled_;
  std::unique_ptr<RecordFile> file_;
  std::vector<std::uint64_t> runs_;  // the end of each
  std::future<void> written_;        // last member: its destructor waits for the thread
};

}  // namespace sqlite_format
