#include "db/sqlite/table_filler.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "db/sqlite/connection.hpp"
#include "db/sqlite/statement.hpp"
#include "db/sqlite/work_beside.hpp"
#include "model/error.hpp"

namespace comptroller::db::sqlite {

namespace {

constexpr std::int64_t rows_between_checks = 10'000;
constexpr std::size_t first_slots = std::size_t{1} << 12U;

// Returns the column of a partial index's condition `WHERE column IS NOT NULL`; empty for another
// condition.
std::string required_column(std::string_view sql) {
  constexpr std::string_view where = " WHERE ";
  constexpr std::string_view is_not_null = " IS NOT NULL";
  const std::size_t at = sql.rfind(where);
  if (at == std::string_view::npos || !sql.ends_with(is_not_null)) return {};
  const std::string_view column = sql.substr(at + where.size());
  return std::string(column.substr(0, column.size() - is_not_null.size()));
}

}  // namespace

// Takes the parameters of an INSERT as the values of a row.
class TableFiller::Row final : public Statement {
 public:
  // `places` are the positions of the parameters' columns in the table.
  Row(std::vector<Value>& row, const std::vector<std::size_t>& places)
      : row_(row), places_(places) {}

  using Statement::bind;
  void bind(int index, const Value& value) override {
    row_[places_[static_cast<std::size_t>(index) - 1]] = value;
  }

 private:
  std::vector<Value>& row_;
  const std::vector<std::size_t>& places_;
};

bool TableFiller::Fingerprints::insert(std::uint64_t fingerprint) {
  if (2 * (size_ + 1) > slots_.size() + slots_.size() / 2) grow();
  fingerprint += fingerprint == 0 ? 1 : 0;
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = fingerprint & mask;
  for (; slots_[at] != 0; at = (at + 1) & mask) {
    if (slots_[at] == fingerprint) return false;
  }
  slots_[at] = fingerprint;
  ++size_;
  return true;
}

void TableFiller::Fingerprints::grow() {
  Slots before(std::max(first_slots, 2 * slots_.size()));
  before.swap(slots_);
  size_ = 0;
  for (const std::uint64_t fingerprint : before) {
    if (fingerprint != 0) insert(fingerprint);
  }
}

std::unique_ptr<TableFiller> TableFiller::make(SqliteConnection& connection, std::string_view table,
                                               const std::string& folder) {
  if (connection.query("SELECT 1 FROM " + std::string(table) + " LIMIT 1").step()) return nullptr;
  std::unique_ptr<TableFiller> filler(new TableFiller);
  filler->table_ = table;
  if (!filler->read_columns(connection) || !filler->read_indexes(connection, folder)) {
    return nullptr;
  }
  filler->records_ = std::make_unique<RecordFile>(folder);
  return filler;
}

// This and the next function return false if the table has an unusual feature.
bool TableFiller::read_columns(SqliteConnection& connection) {
  Query unusual = connection.query(
      "SELECT 1 FROM sqlite_schema WHERE tbl_name = $table AND (type = 'trigger' OR type = 'table'"
      " AND (sql LIKE '%CHECK%' OR sql LIKE '%GENERATED%' OR sql LIKE '%AUTOINCREMENT%'"
      " OR sql LIKE '%WITHOUT%ROWID%'))");
  if (unusual.bind("$table", table_).step()) return false;
  auto shape = TableShape::of(connection, table_);
  if (!shape) return false;
  shape_ = std::move(*shape);
  row_.resize(shape_.columns.size());
  return std::ranges::none_of(shape_.columns, [](const TableShape::Column& column) {
    return column.affinity == TableShape::Affinity::other || column.has_default;
  });
}

bool TableFiller::read_indexes(SqliteConnection& connection, const std::string& folder) {
  std::size_t unique = 0;
  Query indexes = connection.query(
      "SELECT list.name, list.\"unique\", list.partial, schema.rootpage, schema.sql"
      " FROM pragma_index_list($table) AS list"
      " JOIN sqlite_schema AS schema ON schema.type = 'index' AND schema.name = list.name");
  indexes.bind("$table", table_);
  while (indexes.step()) {
    Index index;
    index.name = indexes.column(0).bytes;
    index.root = static_cast<PageNumber>(indexes.column(3).integer);
    if (indexes.column(2).integer != 0) {
      index.required_name = required_column(indexes.column(4).bytes);
      index.required = shape_.find(index.required_name);
      if (!index.required) return false;
    }
    Query columns = connection.query(
        "SELECT cid, \"desc\", coll FROM pragma_index_xinfo($index) WHERE key ORDER BY seqno");
    columns.bind("$index", index.name);
    while (columns.step()) {
      const std::int64_t position = columns.column(0).integer;
      if (position < 0 || columns.column(1).integer != 0 || columns.column(2).bytes != "BINARY") {
        return false;
      }
      index.columns.push_back(static_cast<std::size_t>(position));
      index.names.push_back(shape_.columns[index.columns.back()].name);
    }
    if (indexes.column(1).integer != 0) {
      if (index.columns.size() != 1 || index.required || ++unique > 1) return false;
      unique_column_ = index.columns.front();
    }
    indexes_.push_back(std::move(index));
    sorters_.push_back(std::make_unique<KeySorter>(folder));
  }
  return unique == 1;
}

std::vector<Insertion> TableFiller::insert(const InsertStatement& statement, std::size_t rows,
                                           const Connection::BindRow& bind) {
  std::vector<std::size_t> places;
  for (const std::string_view name : statement.columns) {
    const auto column = shape_.find(name);
    if (!column) throw Error(Code::internal, "a filled table lacks a column");
    places.push_back(*column);
  }
  Row values(row_, places);
  std::vector<Insertion> results(rows, Insertion::deferred);
  for (std::size_t row = 0; row < rows; ++row) {
    std::ranges::fill(row_, Value::null());
    Query query(values);
    bind(query, row);
    if (!is_plain()) continue;
    const std::optional<std::uint64_t> fingerprint = fingerprint_of_unique();
    if (!fingerprint) continue;
    unique_values_.prefetch(*fingerprint);
    record_.clear();
    append_record(record_, row_);
    if (!unique_values_.insert(*fingerprint)) continue;
    add();
    results[row] = Insertion::inserted;
  }
  return results;
}

// Whether SQLite would store the values of the current row without conversion.
bool TableFiller::is_plain() const {
  using enum TableShape::Affinity;
  const auto is_stored_as_it_is = [](const Value& value, const TableShape::Column& column) {
    if (value.is_null()) return !column.is_required;
    if (column.affinity == integer) return value.kind == Value::Kind::integer;
    return column.affinity == none || value.kind == Value::Kind::text;
  };
  return row_[shape_.key].is_null() && std::ranges::equal(row_, shape_.columns, is_stored_as_it_is);
}

// Returns the fingerprint of the current row's unique value; nullopt if only SQLite can compare it.
std::optional<std::uint64_t> TableFiller::fingerprint_of_unique() const {
  const Value& value = row_[unique_column_];
  if (value.kind == Value::Kind::null || value.kind == Value::Kind::integer) return std::nullopt;
  return std::hash<std::string_view>{}(value.bytes);
}

// Adds the current row, whose record is in `record_`.
void TableFiller::add() {
  ++rows_;
  records_->append(record_);
  const Value key = Value::of(static_cast<std::int64_t>(rows_));
  for (std::size_t i = 0; i < indexes_.size(); ++i) {
    const Index& index = indexes_[i];
    if (index.required && row_[*index.required].is_null()) continue;
    std::size_t max_size = max_key_size(key);
    for (const std::size_t column : index.columns) max_size += max_key_size(row_[column]);
    if (key_.size() < max_size) key_.resize(max_size);
    char* end = key_.data();
    for (const std::size_t column : index.columns) end = put_key(end, row_[column]);
    end = put_key(end, key);
    sorters_[i]->add({key_.data(), end});
  }
}

bool TableFiller::take_rows(TableFiller& other) {
  if (table_ != other.table_ || shape_.columns != other.shape_.columns ||
      !std::ranges::equal(indexes_, other.indexes_, &Index::has_entries_of)) {
    return false;
  }
  sorters_ = std::move(other.sorters_);
  records_ = std::move(other.records_);
  rows_ = other.rows_;
  unique_values_ = std::move(other.unique_values_);
  return true;
}

void TableFiller::write(NewPages& pages, const std::function<void()>& check_interrupt) {
  unique_values_ = {};
  std::atomic<std::size_t> next = 0;
  const auto write_trees = [&](const std::function<void()>& check) {
    PageAppender appender(pages);
    for (std::size_t tree = next++; tree <= indexes_.size(); tree = next++) {
      if (tree == 0) {
        write_rows(appender, check);
      } else {
        write_index(indexes_[tree - 1], *sorters_[tree - 1], appender, check);
        sorters_[tree - 1].reset();
      }
    }
    appender.finish();
  };
  std::atomic<bool> is_stopped = false;
  const auto check_stopped = [&] {
    if (is_stopped) throw Error(Code::unavailable, "the load was stopped");
  };
  WorkBeside other([&] { write_trees(check_stopped); }, [&] { is_stopped = true; });
  write_trees(check_interrupt);
  other.wait(std::chrono::milliseconds(10), check_interrupt);
}

void TableFiller::write_index(const Index& index, KeySorter& sorter, PageAppender& pages,
                              const std::function<void()>& check_interrupt) {
  TreeWriter tree(TreeWriter::Kind::index, pages);
  KeyReader reader;
  std::string last;
  std::string record;
  std::int64_t entries = 0;
  sorter.visit_sorted([&](std::string_view key) {
    if (entries > 0 && key <= last) {
      throw Error(Code::internal, "the entries of index " + index.name + " are out of order");
    }
    last = key;
    record.clear();
    append_record(record, reader.read(key));
    tree.add_entry(record);
    if (++entries % rows_between_checks == 0) check_interrupt();
  });
  if (entries > 0) tree.finish(index.root);
}

void TableFiller::write_rows(PageAppender& pages, const std::function<void()>& check_interrupt) {
  if (rows_ == 0) return;
  TreeWriter tree(TreeWriter::Kind::table, pages);
  RecordFile::Cursor records(*records_, 0, records_->flush());
  for (std::int64_t key = 1; records.next(); ++key) {
    tree.add_row(key, records.record());
    if (key % rows_between_checks == 0) check_interrupt();
  }
  records_.reset();
  tree.finish(shape_.root);
}

}  // namespace comptroller::db::sqlite
