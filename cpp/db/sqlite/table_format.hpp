// Tables as SQLite stores them (https://sqlite.org/fileformat2.html): the pages of a b-tree and the
// records in its leaves. Every position and size in a page is checked before use; a damaged page is
// an Error with code unusable.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "db/database.hpp"

namespace comptroller::db::sqlite {

class SqliteConnection;

inline constexpr char interior_page = 5;
inline constexpr char leaf_page = 13;
inline constexpr std::size_t max_levels = 20;  // of a b-tree

// Throws the Error for a damaged store.
[[noreturn]] void throw_damaged_page();

// Reads a variable-length integer before `end` and advances past it.
std::uint64_t read_long_varint(const char*& at, const char* end);
inline std::uint64_t read_varint(const char*& at, const char* end) {
  // Most have one byte.
  if (at < end && static_cast<unsigned char>(*at) < 0x80) return static_cast<unsigned char>(*at++);
  return read_long_varint(at, end);
}

// The columns of a table, and the first page of its b-tree.
struct TableShape {
  enum class Affinity : std::uint8_t { none, integer, text, other };
  struct Column {
    std::string name;
    Affinity affinity = Affinity::none;
    bool is_required = false;
    bool has_default = false;

    friend bool operator==(const Column&, const Column&) = default;
  };
  std::vector<Column> columns;
  std::size_t key = 0;  // the column that is the key
  std::uint32_t root = 0;

  // Returns nullopt if the table does not exist, has a generated column, or has no INTEGER PRIMARY
  // KEY.
  static std::optional<TableShape> of(SqliteConnection& connection, std::string_view table);
  // Returns the position of a column; nullopt if only SQL can evaluate it. That is an expression,
  // and a column with a default, which the records written before the column do not contain.
  std::optional<std::size_t> find(std::string_view name) const;
};

// A page of a table's b-tree.
struct TablePage {
  const char* bytes;
  std::size_t size;

  bool is_leaf() const;  // throws unusable for a page of another kind
  std::size_t cells() const;
  // A page whose subtree has the keys up to and including the last.
  struct Child {
    std::uint32_t page = 0;
    std::int64_t last_key = 0;
  };
  Child child(std::size_t cell) const;  // of an interior page
  std::uint32_t last_child() const;
  // A record of a leaf.
  struct Cell {
    std::int64_t key = 0;
    std::uint64_t size = 0;
    const char* payload = nullptr;  // its first bytes
  };
  Cell cell(std::size_t cell) const;
};

// Decodes the columns of one record after another.
class RecordReader {
 public:
  using ReadPage = std::function<void(std::uint32_t page, std::vector<char>& into)>;

  // `columns` is the number of columns from the first to the last one needed. `read_page` copies
  // the overflow pages of long records.
  RecordReader(std::size_t columns, std::size_t key_column, ReadPage read_page)
      : places_(columns), key_column_(key_column), read_page_(std::move(read_page)) {}

  // The page must not change while values of the record are in use. The record takes no more than
  // the pages of the database.
  void read(const TablePage& page, const TablePage::Cell& cell, std::uint32_t pages);
  // Returns the value of a column as SQL would.
  Value column(std::size_t column) const;

 private:
  // The position of a column in the record.
  struct Place {
    std::uint64_t type = 0;
    std::size_t offset = 0;
    std::size_t size = 0;
  };

  std::string_view payload(const TablePage& page, const TablePage::Cell& cell, std::uint32_t pages);
  void read_header();

  std::vector<Place> places_;
  std::size_t key_column_;
  ReadPage read_page_;
  std::int64_t key_ = 0;
  std::string_view record_;
  std::vector<char> long_record_;  // a record that does not fit in its leaf
  std::vector<char> overflow_;     // an overflow page
};

}  // namespace comptroller::db::sqlite
