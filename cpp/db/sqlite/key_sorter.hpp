// Sorts more keys than fit into memory.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "db/sqlite/record_file.hpp"

namespace comptroller::db::sqlite {

// A thread sorts each 5 MiB of keys and writes them to an unnamed file as a run. The runs are
// merged at the end. For one thread at a time.
class KeySorter {
 public:
  // Temporary files are created in `folder`.
  explicit KeySorter(std::string folder) : folder_(std::move(folder)) {}

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

  std::string folder_;
  Keys keys_;
  // Used by the thread that writes a run.
  Keys spilled_;
  std::unique_ptr<RecordFile> file_;
  std::vector<std::uint64_t> runs_;  // the end of each
  std::future<void> written_;        // last member: its destructor waits for the thread
};

}  // namespace comptroller::db::sqlite
