// Builder: rows and their index keys go to temporary files; `write` makes b-trees of them.
#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <utility>

#include "sqlite_format/sqlite_format.hpp"
#include "sqlite_format/src/background.hpp"
#include "sqlite_format/src/fingerprints.hpp"
#include "sqlite_format/src/key_sorter.hpp"
#include "sqlite_format/src/record.hpp"
#include "sqlite_format/src/record_file.hpp"
#include "sqlite_format/src/sql.hpp"
#include "sqlite_format/src/table.hpp"
#include "sqlite_format/src/tree_writer.hpp"

namespace sqlite_format {

namespace {

constexpr std::int64_t rows_between_checks = 10'000;
constexpr std::uint64_t rows_looked_up = 100;
constexpr std::string_view is_not_null = " IS NOT NULL";

// Returns the column of a partial index's condition `WHERE column IS NOT NULL`; empty for another
// condition.
std::string required_column(std::string_view sql) {
  constexpr std::string_view where = " WHERE ";
  const std::size_t at = sql.rfind(where);
  if (at == std::string_view::npos || !sql.ends_with(is_not_null)) return {};
  const std::string_view column = sql.substr(at + where.size());
  return std::string(column.substr(0, column.size() - is_not_null.size()));
}

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

class TableBuilder final : public Builder {
 public:
  explicit TableBuilder(std::function<int()> make_file)
      : make_file_(std::move(make_file)), records_(std::make_unique<RecordFile>(make_file_())) {}

  // Returns false if the table has a feature that is not supported.
  bool read(sqlite3* connection, std::string_view table) {
    return read_columns(connection, table) && read_indexes(connection);
  }

  std::size_t columns() const override { return table_.columns.size(); }
  std::optional<std::size_t> find(std::string_view column) const override {
    return table_.find(column);
  }
  bool add(std::span<const Value> row) override;
  bool take_rows(Builder& other) override;
  void write(int descriptor, const std::function<void()>& check) override;
  void verify(sqlite3* connection) const override;

 private:
  bool read_columns(sqlite3* connection, std::string_view table);
  bool read_indexes(sqlite3* connection);
  bool is_plain(std::span<const Value> row) const;
  void add_keys(std::span<const Value> row);
  void write_trees(NewPages& pages, const std::function<void()>& check);
  void write_rows(PageAppender& pages, const std::function<void()>& check);
  void write_index(const Index& index, KeySorter& sorter, PageAppender& pages,
                   const std::function<void()>& check) const;
  void verify_counts(sqlite3* connection) const;
  void verify_order(sqlite3* connection) const;

  std::function<int()> make_file_;
  Table table_;
  std::size_t unique_column_ = 0;
  std::vector<Index> indexes_;
  std::vector<std::unique_ptr<KeySorter>> sorters_;  // of each index
  std::unique_ptr<RecordFile> records_;              // of the rows
  std::uint64_t rows_ = 0;
  Fingerprints unique_values_;
  std::string record_;
  std::string key_;
  std::atomic<std::size_t> next_tree_ = 0;
};

bool TableBuilder::read_columns(sqlite3* connection, std::string_view table) {
  Sql unsupported(
      connection,
      "SELECT 1 FROM sqlite_schema WHERE tbl_name = $table AND (type = 'trigger' OR type = 'table'"
      " AND (sql LIKE '%CHECK%' OR sql LIKE '%GENERATED%' OR sql LIKE '%AUTOINCREMENT%'"
      " OR sql LIKE '%WITHOUT%ROWID%'))");
  if (unsupported.bind(table).step()) return false;
  auto shape = Table::read(connection, table);
  if (!shape) return false;
  table_ = std::move(*shape);
  return std::ranges::none_of(table_.columns, [](const Table::Column& column) {
    return column.affinity == Table::Affinity::other || column.has_default;
  });
}

bool TableBuilder::read_indexes(sqlite3* connection) {
  std::size_t unique = 0;
  Sql indexes(connection,
              "SELECT list.name, list.\"unique\", list.partial, schema.rootpage, schema.sql"
              " FROM pragma_index_list($table) AS list"
              " JOIN sqlite_schema AS schema ON schema.type = 'index' AND schema.name = list.name");
  indexes.bind(table_.name);
  while (indexes.step()) {
    Index index;
    index.name = indexes.text(0);
    index.root = static_cast<PageNumber>(indexes.number(3));
    if (indexes.flag(2)) {
      index.required_name = required_column(indexes.text(4));
      index.required = table_.find(index.required_name);
      if (!index.required) return false;
    }
    Sql columns(
        connection,
        "SELECT cid, \"desc\", coll FROM pragma_index_xinfo($index) WHERE key ORDER BY seqno");
    columns.bind(index.name);
    while (columns.step()) {
      const std::int64_t position = columns.number(0);
      if (position < 0 || columns.flag(1) || columns.text(2) != "BINARY") return false;
      index.columns.push_back(static_cast<std::size_t>(position));
      index.names.push_back(table_.columns[index.columns.back()].name);
    }
    if (indexes.flag(1)) {
      if (index.columns.size() != 1 || index.required || ++unique > 1) return false;
      unique_column_ = index.columns.front();
    }
    indexes_.push_back(std::move(index));
    sorters_.push_back(std::make_unique<KeySorter>(make_file_));
  }
  return unique == 1;
}

bool TableBuilder::add(std::span<const Value> row) {
  if (!is_plain(row)) return false;
  const Value& unique = row[unique_column_];
  // Only SQLite compares NULLs and integers.
  if (unique.type != Value::Type::text && unique.type != Value::Type::blob) return false;
  const std::uint64_t fingerprint = std::hash<std::string_view>{}(unique.bytes);
  unique_values_.prefetch(fingerprint);
  record_.clear();
  append_record(record_, row);
  if (!unique_values_.insert(fingerprint)) return false;
  ++rows_;
  records_->append(record_);
  add_keys(row);
  return true;
}

// Whether SQLite would store the values of the row without conversion.
bool TableBuilder::is_plain(std::span<const Value> row) const {
  using enum Table::Affinity;
  const auto is_stored_as_it_is = [](const Value& value, const Table::Column& column) {
    if (value.is_null()) return !column.is_required;
    if (column.affinity == integer) return value.type == Value::Type::integer;
    if (column.affinity == none) return value.type != Value::Type::real;
    return value.type == Value::Type::text;
  };
  return row[table_.key].is_null() && std::ranges::equal(row, table_.columns, is_stored_as_it_is);
}

void TableBuilder::add_keys(std::span<const Value> row) {
  const Value key = Value::of(static_cast<std::int64_t>(rows_));
  for (std::size_t i = 0; i < indexes_.size(); ++i) {
    const Index& index = indexes_[i];
    if (index.required && row[*index.required].is_null()) continue;
    std::size_t max_size = max_key_size(key);
    for (const std::size_t column : index.columns) max_size += max_key_size(row[column]);
    if (key_.size() < max_size) key_.resize(max_size);
    char* end = key_.data();
    for (const std::size_t column : index.columns) end = put_key(end, row[column]);
    end = put_key(end, key);
    sorters_[i]->add({key_.data(), end});
  }
}

bool TableBuilder::take_rows(Builder& other) {
  auto& given = static_cast<TableBuilder&>(other);
  if (table_.name != given.table_.name || table_.columns != given.table_.columns ||
      !std::ranges::equal(indexes_, given.indexes_, &Index::has_entries_of)) {
    return false;
  }
  sorters_ = std::move(given.sorters_);
  records_ = std::move(given.records_);
  rows_ = given.rows_;
  unique_values_ = std::move(given.unique_values_);
  return true;
}

void TableBuilder::write(int descriptor, const std::function<void()>& check) {
  constexpr std::chrono::milliseconds pause{10};
  unique_values_ = {};
  NewPages pages(descriptor);
  std::atomic<bool> is_stopped = false;
  std::future<void> other = run_in_background([&] {
    write_trees(pages, [&] {
      if (is_stopped) throw Failure(SQLITE_ABORT, "the other thread failed");
    });
  });
  try {
    write_trees(pages, check);
    while (other.wait_for(pause) == std::future_status::timeout) check();
  } catch (...) {
    is_stopped = true;
    other.wait();
    throw;
  }
  other.get();
  pages.finish();
}

// Writes trees until none is left. Two threads do so at once.
void TableBuilder::write_trees(NewPages& pages, const std::function<void()>& check) {
  PageAppender appender(pages);
  for (std::size_t tree = next_tree_++; tree <= indexes_.size(); tree = next_tree_++) {
    if (tree == 0) {
      write_rows(appender, check);
    } else {
      write_index(indexes_[tree - 1], *sorters_[tree - 1], appender, check);
      sorters_[tree - 1].reset();
    }
  }
  appender.finish();
}

void TableBuilder::write_index(const Index& index, KeySorter& sorter, PageAppender& pages,
                               const std::function<void()>& check) const {
  TreeWriter tree(TreeWriter::Kind::index, pages);
  KeyReader reader;
  std::string last;
  std::string record;
  std::int64_t entries = 0;
  sorter.visit_sorted([&](std::string_view key) {
    if (entries > 0 && key <= last) {
      throw Failure(SQLITE_INTERNAL, "the entries of index " + index.name + " are out of order");
    }
    last = key;
    record.clear();
    append_record(record, reader.read(key));
    tree.add_entry(record);
    if (++entries % rows_between_checks == 0) check();
  });
  if (entries > 0) tree.finish(index.root);
}

void TableBuilder::write_rows(PageAppender& pages, const std::function<void()>& check) {
  if (rows_ == 0) return;
  TreeWriter tree(TreeWriter::Kind::table, pages);
  RecordFile::Cursor records(*records_, 0, records_->flush());
  for (std::int64_t key = 1; records.next(); ++key) {
    tree.add_row(key, records.record());
    if (key % rows_between_checks == 0) check();
  }
  records_.reset();
  tree.finish(table_.root);
}

void TableBuilder::verify(sqlite3* connection) const {
  Sql check(connection, "PRAGMA quick_check");
  const std::string finding = check.step() ? check.text(0) : "";
  if (const int failure = failed_read_of(finding)) throw Failure(failure, finding);
  if (finding != "ok") throw Failure(SQLITE_INTERNAL, finding);
  verify_counts(connection);
  verify_order(connection);
}

void TableBuilder::verify_counts(sqlite3* connection) const {
  const std::string from = " FROM " + table_.name;
  std::string in_table = "SELECT count(*)";
  for (const Index& index : indexes_) {
    in_table.append(", count(").append(index.required ? index.required_name : "*").append(")");
  }
  Sql table(connection, in_table + from + " NOT INDEXED");
  table.step();
  bool is_equal = std::cmp_greater_equal(table.number(0), rows_);
  int column = 0;
  for (const Index& index : indexes_) {
    std::string in_index = "SELECT count(*)" + from;
    in_index.append(" INDEXED BY ").append(index.name);
    if (index.required) in_index.append(" WHERE ").append(index.required_name) += is_not_null;
    Sql count(connection, in_index);
    count.step();
    is_equal &= count.number(0) == table.number(++column);
  }
  if (!is_equal) throw Failure(SQLITE_INTERNAL, "they lack rows");
}

void TableBuilder::verify_order(sqlite3* connection) const {
  std::string sample = "[";
  for (std::uint64_t i = 0; i < rows_looked_up; ++i) {
    sample.append(std::to_string(1 + rows_ * i / rows_looked_up)).append(",");
  }
  sample.back() = ']';
  const std::string from = "SELECT count(*) FROM json_each($sample) AS sample CROSS JOIN " +
                           table_.name + " AS row NOT INDEXED ON row.rowid = sample.value";
  for (const Index& index : indexes_) {
    std::string entry = " CROSS JOIN " + table_.name;
    entry.append(" AS entry INDEXED BY ").append(index.name).append(" ON entry.rowid = row.rowid");
    for (const std::string& name : index.names) {
      entry.append(" AND entry.").append(name).append(" IS row.").append(name);
    }
    std::string where;
    if (index.required) {
      entry.append(" AND entry.").append(index.required_name) += is_not_null;
      where.append(" WHERE row.").append(index.required_name) += is_not_null;
    }
    const auto count = [&](std::string sql) {
      sql += where;
      Sql statement(connection, sql);
      statement.bind(sample).step();
      return statement.number(0);
    };
    if (count(from) != count(from + entry)) {
      throw Failure(SQLITE_INTERNAL, "index " + index.name + " does not find its rows");
    }
  }
}

}  // namespace

std::unique_ptr<Builder> Builder::make(sqlite3* connection, std::string_view table,
                                       std::function<int()> make_file) {
  if (Sql(connection, "SELECT 1 FROM " + std::string(table) + " LIMIT 1").step()) return nullptr;
  auto builder = std::make_unique<TableBuilder>(std::move(make_file));
  if (!builder->read(connection, table)) return nullptr;
  return builder;
}

int failed_read_of(std::string_view finding) {
  constexpr std::string_view unread = "unable to get the page. error code=";
  if (finding.find("failed to get page") != std::string_view::npos) return SQLITE_IOERR;
  const std::size_t at = finding.find(unread);
  if (at == std::string_view::npos) return SQLITE_OK;
  int result = SQLITE_OK;
  finding.remove_prefix(at + unread.size());
  std::from_chars(finding.data(), finding.data() + finding.size(), result);
  return (result & 0xFF) == SQLITE_CORRUPT ? SQLITE_OK : result;
}

bool prepare_to_build(int descriptor) {
  NewPages pages(descriptor);
  if (!pages.is_supported()) return false;
  pages.finish();
  return true;
}

}  // namespace sqlite_format
