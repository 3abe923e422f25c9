// Reads the rows of a table in order of key from its pages (https://sqlite.org/fileformat2.html),
// without SQL. The rows are those of `SELECT columns FROM table WHERE key >= ? AND key < ? AND ...
// ORDER BY key`. Every position and size in a page is checked before use; a damaged page is an
// Error with code unusable.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "db/database.hpp"
#include "db/sqlite/pages.hpp"

namespace comptroller::db::sqlite {

class SqliteConnection;

class PageScan final : public Statement {
 public:
  // Returns nullopt if the table has a feature that only SQL evaluates: an expression as a column,
  // a default. The scan must not outlive the connection's snapshot.
  static std::optional<PageScan> make(SqliteConnection& connection, Pages& pages,
                                      const TableScan& scan);

  bool step() override;
  Value column(int index) override { return value_at(columns_[static_cast<std::size_t>(index)]); }
  void reset() override { is_in_use_ = false; }
  bool is_in_use() const { return is_in_use_; }

  // A scan has no parameters and changes nothing.
  void bind(int index, const Value& value) override;
  void bind(std::string_view name, const Value& value) override;
  std::int64_t run() override;
  std::optional<std::int64_t> insert() override;

 private:
  struct Condition {
    std::size_t column = 0;
    bool is_range = false;             // from the first value until before the second
    std::vector<std::int64_t> values;  // in order
  };
  // A page whose subtree has the keys in (after, last].
  struct Child {
    std::uint32_t page = 0;
    std::int64_t after = 0;
    std::int64_t last = 0;
  };
  // The children of an interior page; `next` is the first that has not been visited.
  struct Level {
    std::vector<Child> children;
    std::size_t next = 0;
  };
  // The position of a column in the current record.
  struct Place {
    std::uint64_t type = 0;
    std::size_t offset = 0;
    std::size_t size = 0;
  };

  PageScan(SqliteConnection& connection, Pages& pages) : connection_(connection), pages_(pages) {}

  bool has_next_leaf();
  void enter(const Child& child);
  std::vector<Child> children_of(const Child& parent, const char* page) const;
  // Reads the next cell of the current leaf.
  void read_cell();
  std::string_view whole_payload(std::uint64_t size, const char* at, const char* end);
  void read_header();
  bool satisfies(const Condition& condition) const;
  Value value_at(std::size_t column) const;

  SqliteConnection& connection_;
  Pages& pages_;
  std::vector<std::size_t> columns_;  // positions in the table
  std::vector<Condition> conditions_;
  std::size_t key_column_ = 0;
  std::int64_t from_ = 0;
  std::int64_t before_ = 0;
  bool is_in_use_ = true;

  std::vector<Level> levels_;  // from the root down
  Child leaf_;
  const char* page_ = nullptr;  // of the leaf
  std::size_t cells_ = 0;
  std::size_t next_cell_ = 0;
  std::int64_t key_ = 0;
  std::string_view record_;
  std::vector<Place> places_;   // of the columns up to the last one needed
  std::vector<char> overflow_;  // a record that does not fit in its leaf
  std::vector<char> other_;     // an overflow page
};

}  // namespace comptroller::db::sqlite
