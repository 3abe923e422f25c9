// Fills an empty table of a private database file by writing its b-trees and those of its indexes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/database.hpp"
#include "db/sqlite/key_sorter.hpp"
#include "db/sqlite/record_format.hpp"
#include "db/sqlite/table_format.hpp"
#include "db/sqlite/tree_writer.hpp"

namespace comptroller::db::sqlite {

class SqliteConnection;

// Takes rows and gives them the keys 1, 2, 3, .... Keeps the rows and their index keys in temporary
// files until the b-trees are written. For one thread at a time.
class TableFiller {
 public:
  struct Index {
    std::string name;
    PageNumber root = 0;
    std::vector<std::size_t> columns;     // positions in the table
    std::vector<std::string> names;       // of these columns
    std::optional<std::size_t> required;  // rows in which this column is NULL have no entry
    std::string required_name;

    // Whether it has the same entries for the same rows.
    bool has_entries_of(const Index& other) const {
      return name == other.name && columns == other.columns && required == other.required;
    }
  };

  // Returns nullptr if the table is not empty, or has a feature that only SQLite's own INSERT
  // supports, such as a trigger or an index on an expression. Temporary files are created in
  // `folder`.
  static std::unique_ptr<TableFiller> make(SqliteConnection& connection, std::string_view table,
                                           const std::string& folder);

  bool fills(std::string_view table) const { return table == table_; }
  // See Connection::insert_new. Defers rows whose unique value may be that of an earlier row, and
  // rows that SQLite would convert or reject.
  std::vector<Insertion> insert(const InsertStatement& statement, std::size_t rows,
                                const Connection::BindRow& bind);
  // Takes all rows of a filler of the same table in another copy of the database, which gets no
  // more rows. Returns false if the tables differ.
  bool take_rows(TableFiller& other);
  // Writes all trees, two at a time, into new pages; their roots replace the empty roots.
  // The caller's thread calls `check_interrupt` regularly, which may throw.
  void write(NewPages& pages, const std::function<void()>& check_interrupt);

  const std::string& table() const { return table_; }
  std::uint64_t rows() const { return rows_; }
  const std::vector<Index>& indexes() const { return indexes_; }

 private:
  class Row;
  // A set of fingerprints with open addressing; 0 is a free slot.
  class Fingerprints {
   public:
    bool insert(std::uint64_t fingerprint);
    // Loads the slot of a fingerprint that is inserted soon.
    void prefetch(std::uint64_t fingerprint) const {
      if (!slots_.empty()) __builtin_prefetch(&slots_[fingerprint & (slots_.size() - 1)]);
    }

   private:
    void grow();
    using Slots = std::vector<std::uint64_t>;
    Slots slots_;
    std::size_t size_ = 0;
  };

  TableFiller() = default;
  bool read_columns(SqliteConnection& connection);
  bool read_indexes(SqliteConnection& connection, const std::string& folder);
  bool is_plain() const;
  std::optional<std::uint64_t> fingerprint_of_unique() const;
  void add();
  void write_rows(PageAppender& pages, const std::function<void()>& check_interrupt);
  void write_index(const Index& index, KeySorter& sorter, PageAppender& pages,
                   const std::function<void()>& check_interrupt);

  std::string table_;
  TableShape shape_;
  std::size_t unique_column_ = 0;
  std::vector<Index> indexes_;
  std::vector<std::unique_ptr<KeySorter>> sorters_;  // of each index
  std::unique_ptr<RecordFile> records_;              // of the rows
  std::uint64_t rows_ = 0;
  Fingerprints unique_values_;
  std::vector<Value> row_;  // the current row
  std::string record_;
  std::string key_;
};

}  // namespace comptroller::db::sqlite
