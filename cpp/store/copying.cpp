#include "store/copying.hpp"

#include <algorithm>
#include <map>

#include "model/error.hpp"
#include "store/operator_indexes.hpp"
#include "store/readable_views.hpp"

namespace comptroller::store {

namespace {

constexpr std::uint64_t rows_per_call = 4'096;

std::int64_t read_number(db::Query query) {
  return query.step() ? query.column(0).integer : 0;
}

// Counts rows, and calls a progress callback.
class RowCount {
 public:
  explicit RowCount(const CopyProgress& progress) : progress_(progress) {}

  void add() {
    if (++rows_ % rows_per_call == 0 && progress_) progress_(rows_);
  }

 private:
  const CopyProgress& progress_;
  std::uint64_t rows_ = 0;
};

// Each driver reads the schema of its own database; the tables of `to` are those of this version.
std::vector<db::StoredTable> common_tables(db::Connection& from, db::Connection& to) {
  std::vector<db::StoredTable> tables = to.stored_tables();
  const std::vector<db::StoredTable> stored = from.stored_tables();
  for (const db::StoredTable& table : tables) {
    const auto found = std::ranges::find(stored, table.name, &db::StoredTable::name);
    if (found == stored.end() || found->columns != table.columns) {
      throw Error(Code::unusable,
                  "the table " + table.name + " does not have the columns of this version");
    }
  }
  return tables;
}

// Returns the last key that was given in each table with keys. A record with the last key may have
// been removed, whose entries the journal has.
std::map<std::string, std::int64_t> last_keys(db::Connection& connection,
                                              const std::vector<db::StoredTable>& tables) {
  std::map<std::string, std::int64_t> keys;
  for (const db::StoredTable& table : tables) {
    if (table.primary_key != std::vector<std::string>{"key"}) continue;
    const std::int64_t stored = read_number(connection.query("SELECT max(key) FROM " + table.name));
    db::Query removed = connection.query(
        "SELECT max(key) FROM journal INDEXED BY journal_by_record"
        " WHERE key IS NOT NULL AND resource = ?");
    removed.bind(1, connection.symbols().find(table.name).value_or(0));
    const std::int64_t last = std::max(stored, read_number(std::move(removed)));
    if (last > 0) keys.emplace(table.name, last);
  }
  return keys;
}

void compare_counts(db::Connection& from, db::Connection& to, const std::string& table) {
  const std::string count = "SELECT count(*) FROM " + table;
  if (read_number(from.query(count)) == read_number(to.query(count))) return;
  throw Error(Code::unusable, "the copy of the table " + table + " does not have all rows");
}

}  // namespace

bool is_unused(db::Connection& connection) {
  return !connection.query("SELECT name FROM secrets LIMIT 1").step() &&
         !connection.query("SELECT key FROM symbols LIMIT 1").step();
}

void copy_rows(db::Connection& from, db::Connection& to, const CopyProgress& progress) {
  const std::vector<db::StoredTable> tables = common_tables(from, to);
  const std::unique_ptr<db::Refill> refill = to.refill(tables);
  RowCount count(progress);
  for (const db::StoredTable& table : tables) {
    db::Query rows = from.query_many(table.select());
    refill->add(table, [&](db::Query& row) {
      if (!rows.step()) return false;
      for (std::size_t column = 0; column < table.columns.size(); ++column) {
        row.bind(static_cast<int>(column) + 1, rows.column(static_cast<int>(column)));
      }
      count.add();
      return true;
    });
  }
  refill->finish(last_keys(from, tables));
  for (const db::StoredTable& table : tables) compare_counts(from, to, table.name);
  // The indexes of an operator's lists, which the row says are there, are no part of the schema.
  to.run("DELETE FROM operator_indexes");
  make_operator_indexes(to);
  to.make_readable_views(readable_views());
}

}  // namespace comptroller::store
