// Tables as SQLite stores them (https://sqlite.org/fileformat2.html): the pages of a b-tree and the
// records in its leaves. Every position and size in a page is checked before use; a damaged page is
// an Error with code unusable.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "db/database.hpp"
#include "db/sqlite/pages.hpp"

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
  // `none` also for ANY of a STRICT table.
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

// Returns how many bytes of a record stay in its cell, at most `most`, on a page of this size. The
// others are in overflow pages.
inline std::size_t local_size(std::size_t record, std::size_t most, std::size_t page) {
  if (record <= most) return record;
  const std::size_t least = (page - 12) * 32 / 255 - 23;
  const std::size_t best = least + (record - least) % (page - 4);
  return best <= most ? best : least;
}

// Decodes the chosen columns of records of a table, as SQL would.
class RecordReader {
 public:
  // Not copyable, because a statement refers to the values.
  ~RecordReader() = default;
  RecordReader(RecordReader&&) = default;
  RecordReader& operator=(RecordReader&&) = delete;

  // Returns nullopt if only SQL can evaluate the columns. The reader has places for the values of
  // `rows` records. It must not outlive the pages.
  static std::optional<RecordReader> make(SqliteConnection& connection, Pages& pages,
                                          std::string_view table,
                                          std::span<const std::string_view> columns,
                                          std::size_t rows = 1);

  std::uint32_t root() const { return root_; }
  // Decodes a record into the place of a row. The page must not change while values of the record
  // are in use. Returns false if they are also overwritten by the next read, because the record
  // continues in overflow pages.
  bool read(const TablePage& page, const TablePage::Cell& cell, std::size_t row = 0);
  // Returns the place of a value of a record with this key, for an error message.
  std::string place_of(int index, std::int64_t key) const;
  // The values of the chosen columns, `width` for each row. Their address stays the same, even when
  // the reader is moved.
  const Value* values() const { return values_.data(); }
  std::size_t width() const { return width_; }

 private:
  struct Choice {
    std::size_t position = 0;  // in the record
    std::size_t index = 0;     // of the value
  };

  explicit RecordReader(Pages& pages) : pages_(pages) {}
  std::string_view payload(const TablePage& page, const TablePage::Cell& cell);

  Pages& pages_;
  std::string table_;
  std::vector<std::string> names_;  // of the values
  std::uint32_t root_ = 0;
  std::vector<Choice> choices_;    // in order of position
  std::vector<std::size_t> keys_;  // indexes of the values that are the key
  std::size_t width_ = 0;
  std::vector<Value> values_;
  std::vector<char> long_record_;  // a record that does not fit in its leaf
  std::vector<char> overflow_;     // an overflow page
};

}  // namespace comptroller::db::sqlite
