// Writes b-trees of SQLite's file format (https://www.sqlite.org/fileformat2.html, 1.6) bottom-up
// from rows and index entries in ascending order: first the leaves, then the levels above them,
// then the root, which replaces an existing page.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "sqlite_format/src/header.hpp"

namespace sqlite_format {

inline constexpr std::size_t page_size = 4096;
using PageNumber = std::uint32_t;  // from 1
using PageBytes = std::array<char, page_size>;

// The pages from `begin` until before `end`.
struct PageRange {
  PageNumber begin = 0;
  PageNumber end = 0;
};

// Allocates the pages after the end of a database file. It allocates runs of pages, so that trees
// that are written at the same time are stored in long pieces. Safe for many threads.
class NewPages {
 public:
  // Reads the file's header. The descriptor must outlive this object.
  explicit NewPages(int descriptor);

  // Whether the file has the format that is written here: pages of 4 KiB without reserved bytes,
  // UTF-8, no auto_vacuum.
  bool is_supported() const;
  PageRange take();
  // Returns the unused pages of a run.
  void give_back(PageRange unused);
  // Writes pages from `first` on.
  void write(std::string_view pages, PageNumber first) const;
  // Call it after all runs were returned. Adds the unused pages to the freelist, and writes the
  // header of a file without a WAL. Its change counter tells connections to discard their caches.
  void finish();

 private:
  int descriptor_;
  FileHeader header_;
  std::mutex mutex_;
  PageNumber next_ = 0;
  std::vector<PageRange> unused_;  // in order
};

// Writes new pages of a database file. For one thread.
class PageAppender {
 public:
  explicit PageAppender(NewPages& pages);

  // Returns the number of the page.
  PageNumber append(const PageBytes& page);
  // Writes an existing page.
  void replace(PageNumber page, const PageBytes& bytes) const;
  // Writes the buffer, and returns the unused pages of the run.
  void finish();

 private:
  void flush();

  NewPages& pages_;
  PageRange run_;       // its unused pages
  std::string buffer_;  // the pages before `run_`
};

// A page of a b-tree that is being filled.
class TreePage {
 public:
  enum class Kind : std::uint8_t {
    index_interior = 0x02,
    table_interior = 0x05,
    index_leaf = 0x0A,
    table_leaf = 0x0D
  };

  explicit TreePage(Kind kind);

  bool fits(std::size_t cell) const;
  void add(std::string_view cell);
  // Removes the cell that was added last; returns its bytes.
  std::string take_last();
  void set_right_child(PageNumber child);
  const PageBytes& finish();

 private:
  std::size_t header_size() const { return kind_ <= Kind::table_interior ? 12 : 8; }

  Kind kind_;
  std::size_t cells_ = 0;
  std::size_t content_ = page_size;  // where the cells begin
  std::size_t last_size_ = 0;
  PageBytes bytes_{};
};

// Writes one b-tree. For one thread.
class TreeWriter {
 public:
  enum class Kind : std::uint8_t { table, index };

  TreeWriter(Kind kind, PageAppender& pages);

  // Adds a row of a table; keys must ascend.
  void add_row(std::int64_t key, std::string_view record);
  // Adds an entry of an index; entries must ascend.
  void add_entry(std::string_view record);
  // Writes the remaining pages, and the root in place of an empty root.
  void finish(PageNumber root);

 private:
  struct Child {
    PageNumber page = 0;
    std::string divider;  // the cell after its left child; empty for the last child
  };

  // Returns a cell that is valid until the next call.
  const std::string& cell_of(std::string_view head, std::string_view record);
  PageNumber append_overflow(std::string_view bytes);
  void end_leaf(std::string divider);
  std::vector<Child> write_level(const std::vector<Child>& children, PageNumber root);

  Kind kind_;
  PageAppender& pages_;
  TreePage leaf_;
  std::vector<Child> children_;
  std::int64_t last_key_ = 0;
  std::string cell_;
  // An entry that did not fit into the leaf. It divides that leaf from the next one if another
  // entry follows.
  std::string divider_;
};

}  // namespace sqlite_format
