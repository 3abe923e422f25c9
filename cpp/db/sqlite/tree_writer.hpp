// Writes b-trees of SQLite's file format (https://www.sqlite.org/fileformat2.html, 1.6) bottom-up
// from rows and index entries in ascending order: leaves one after another, then the levels above
// them, then the root in a page that exists already.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace comptroller::db::sqlite {

inline constexpr std::size_t page_size = 4096;
using PageNumber = std::uint32_t;  // from 1
using PageBytes = std::array<char, page_size>;

// Pages from `begin` on, before `end`.
struct PageRange {
  PageNumber begin = 0;
  PageNumber end = 0;
};

// The pages behind the end of a database file. Gives them out in runs, so that trees that are
// written at once lie in long pieces; for many threads.
class NewPages {
 public:
  // `last`: the number of the last page that the file has.
  explicit NewPages(PageNumber last) : next_(last + 1) {}

  PageRange take();
  // Takes back what was not used of a run.
  void give_back(PageRange unused);
  // Once all is given back: puts the pages that are not used on the file's list of such pages.
  // Returns the number of the last page.
  PageNumber finish(int descriptor);

 private:
  std::mutex mutex_;
  PageNumber next_;
  std::vector<PageRange> unused_;  // in order
};

// Writes new pages of a database file, whose descriptor must outlive this. For one thread.
class PageAppender {
 public:
  PageAppender(int descriptor, NewPages& pages);

  // The number that the next page will have.
  PageNumber next();
  // The number that the page behind the next one will have.
  PageNumber following();
  void append(const PageBytes& page);
  // Writes a page that exists already.
  void replace(PageNumber page, const PageBytes& bytes) const;
  // Writes what is buffered, and gives back what is left of the run.
  void finish();

 private:
  void flush();

  int descriptor_;
  NewPages& pages_;
  PageRange run_;        // what is left of it
  PageRange following_;  // the run behind it, if it was taken already
  std::string buffer_;   // the pages before `run_`
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
  bool is_interior() const { return kind_ <= Kind::table_interior; }

  Kind kind_;
  std::size_t cells_ = 0;
  std::size_t content_ = page_size;  // where the content begins
  std::size_t last_size_ = 0;
  PageBytes bytes_{};
};

// One b-tree.
class TreeWriter {
 public:
  enum class Kind : std::uint8_t { table, index };

  TreeWriter(Kind kind, PageAppender& pages);

  // Adds a row of a table; keys ascend.
  void add_row(std::int64_t key, std::string_view record);
  // Adds an entry of an index; entries ascend.
  void add_entry(std::string_view record);
  // Writes what is left, and the root in place of an empty one.
  void finish(PageNumber root);

 private:
  struct Child {
    PageNumber page = 0;
    std::string divider;  // the cell behind its left child; none for the last child
  };

  std::string cell_of(std::string_view head, std::string_view record);
  PageNumber append_overflow(std::string_view bytes);
  void end_leaf(std::string divider);
  std::vector<Child> write_level(const std::vector<Child>& children, PageNumber root);

  Kind kind_;
  PageAppender& pages_;
  TreePage leaf_;
  std::vector<Child> children_;
  std::int64_t last_key_ = 0;
  // An entry for which the leaf had no room: it divides that leaf from the next one if there is
  // another entry behind it.
  std::string divider_;
};

}  // namespace comptroller::db::sqlite
