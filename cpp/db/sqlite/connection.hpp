// One SQLite connection.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/database.hpp"
#include "db/sqlite/handle.hpp"
#include "db/sqlite/page_reader.hpp"
#include "db/sqlite/statement.hpp"
#include "db/sqlite/table_filler.hpp"

namespace comptroller::db::sqlite {

class SqliteConnection final : public Connection, public Handle {
 public:
  // `flags` and `vfs` are those of sqlite3_open_v2; NOMUTEX is added.
  SqliteConnection(const std::string& path, int flags, const char* vfs = nullptr);

  Query query(std::string_view sql) override {
    count_statement();
    return Query(statements_.take(*this, sql));
  }
  std::optional<Query> scan(const TableScan& scan) override { return pages_.scan(scan); }
  std::optional<Query> rows_by_key(std::string_view table, std::string_view columns) override {
    return pages_.rows_by_key(table, columns);
  }
  std::string_view index_hint(std::string_view table, std::string_view columns,
                              std::string_view condition) override;
  const Dialect& dialect() const override;
  void execute(const std::string& sql) override {
    ++executed_;
    Handle::execute(sql);
  }
  // A number that changes when this connection changes the database.
  std::int64_t changes() const { return sqlite3_total_changes64(handle()) + executed_; }
  std::vector<Insertion> insert_new(const InsertStatement& statement, std::size_t rows,
                                    const BindRow& bind, std::vector<std::int64_t>& keys) override;
  void begin_snapshot() override;
  void end_snapshot() noexcept override;
  std::vector<StoredTable> stored_tables() override;
  std::unique_ptr<Refill> refill(const std::vector<StoredTable>& tables) override;
  bool has_readable_views(std::span<const ReadableView> views) override;
  void make_readable_views(std::span<const ReadableView> views) override;

  // Ends the transaction, if one is active.
  void roll_back() noexcept;
  // Returns the number that a statement selects; 0 if it selects no row.
  std::int64_t read_number(std::string_view sql);
  bool has_rows(std::string_view table) {
    return query("SELECT 1 FROM " + std::string(table) + " LIMIT 1").step();
  }
  // Reads tables only with SQL from now on, not by their pages.
  void read_with_sql() { pages_.switch_off(); }
  // Fixes the state that a new transaction sees; without it, SQLite does so at the first read.
  // Drops what is cached of the content if a restore may have replaced it.
  void read_now();
  // From now on, read_now calls `check`, which may throw, for new content.
  void check_content(std::function<void(SqliteConnection&)> check) {
    check_content_ = std::move(check);
  }
  std::uint64_t writing_state() const override { return writing_state_; }
  // Called when a write transaction begins, and when a part of it is undone.
  void renew_writing_state() noexcept;
  std::int64_t content() const override { return content_.value_or(0); }
  // Whether the log is open. The first read opens it, unless the file was opened as immutable.
  bool has_log() const { return sqlite_format::has_wal(handle()); }
  // Begins a snapshot of the current state. Returns the last commit that it sees, if known.
  std::optional<sqlite_format::LastCommit> begin_present_snapshot();

  // Passes new rows of the table of `filler` to it instead of inserting them. It must outlive this
  // connection, unless it is replaced by nullptr.
  void set_filler(TableFiller* filler) { filler_ = filler; }

 private:
  void forget_snapshot() noexcept;

  struct IndexHint {
    std::string table;
    std::string columns;
    std::string condition;
    std::string hint;
  };

  StatementCache statements_;
  PageReader pages_;
  std::function<void(SqliteConnection&)> check_content_;
  bool is_in_snapshot_ = false;
  std::uint64_t writing_state_ = 0;
  std::int64_t executed_ = 0;            // calls of execute, whose changes SQLite may not count
  std::optional<std::int64_t> content_;  // of which the symbols are cached
  std::vector<IndexHint> index_hints_;
  std::int64_t schema_of_index_hints_ = 0;
  TableFiller* filler_ = nullptr;
};

}  // namespace comptroller::db::sqlite
