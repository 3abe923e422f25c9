// One connection to a PostgreSQL database.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "db/database.hpp"
#include "db/postgresql/channel.hpp"
#include "db/postgresql/copied_rows.hpp"
#include "db/postgresql/copied_scan.hpp"
#include "db/postgresql/shared_symbols.hpp"
#include "db/postgresql/statement.hpp"

namespace comptroller::db::postgresql {

class PostgresqlConnection final : public Connection, public Channel {
 public:
  // `symbols` must outlive the connection; null for a connection that uses no symbols.
  PostgresqlConnection(std::unique_ptr<Session> session, SharedSymbols* symbols);

  Query query(std::string_view sql) override { return Query(statements().take(sql, false)); }
  Query query_many(std::string_view sql) override { return Query(statements().take(sql, true)); }
  Query query_list(std::string_view sql, std::span<const Value> values) override;
  const Dialect& dialect() const override;
  std::vector<Insertion> insert_new(const InsertStatement& statement, std::size_t rows,
                                    const BindRow& bind, std::vector<std::int64_t>& keys) override;
  std::optional<Query> scan(const TableScan& scan) override;
  void read_ahead(std::string_view sql, std::size_t runs, const ValuesOfRun& values) override;
  std::vector<std::int64_t> numbers(std::string_view sql) override;
  void allow_guesses() override { may_guess_ = true; }
  void check_guesses() override;
  void execute(const std::string& sql) override;
  std::vector<StoredTable> stored_tables() override;
  std::unique_ptr<Refill> refill(const std::vector<StoredTable>& tables) override;
  // Returns the types of the parameters of a statement.
  std::vector<unsigned> parameter_types(std::string_view sql);
  bool locks_rows() const override { return transaction() != 0 && mode_ == Mode::writing; }
  bool sequences_later() const override { return locks_rows() && !has_journal_; }
  JournalLock lock_journal(bool waits) override;
  std::int64_t content() const override {
    return connection_symbols_ == nullptr ? 1 : connection_symbols_->generation();
  }
  void begin_snapshot() override;
  void end_snapshot() noexcept override;
  void begin_request() override;
  bool has_readable_views(std::span<const ReadableView> views) override;
  void make_readable_views(std::span<const ReadableView> views) override;

  // Returns SQL for when the server started, or recovered from the crash of one of its processes,
  // in microseconds. It names the server: what that had not written to its disk by then is lost.
  std::string start_of_server();
  // Names the server (its start), whose symbols the connection uses from now on.
  void expect_server(std::int64_t server);
  std::int64_t server() const { return server_; }
  // Whether it is connected to the server that the shared symbols are of.
  bool is_of_current_server() const {
    return connection_symbols_ == nullptr || connection_symbols_->is_of_current_server();
  }
  // Whether the connection can be lent again.
  bool can_be_lent() { return is_of_current_server() && is_usable(); }

  // In a snapshot: from now on it sees what is stored now.
  void take_snapshot();
  // From now on snapshots of requests have the settings for them, and other snapshots those of the
  // server.
  void prefer_requests();
  // From now on statements read by indexes, because plans are kept, and a table that is empty when
  // its plan is made may grow; a commit waits for the disk; and the server ends the connection if
  // this machine is gone. It also ends a writer's transaction, unless that is a bulk write, if the
  // process sends nothing for a minute.
  void set_up(bool is_writer);

  // From now on each statement outside of transactions waits for locks for at most `max_wait`, and
  // ends after twice this time. Behind a pooler, it throws Lost if it runs on another server.
  void limit_statements(std::chrono::milliseconds max_wait);

  // Begins a snapshot that sees what an exported one sees.
  void begin_snapshot_of(const std::string& exported);

  // Begin a write transaction, which ends with commit or roll_back. A statement waits for locks for
  // at most `max_wait`. A bulk write runs alone: all others wait until it ends. A joined one runs
  // beside ordinary writes, but not beside another such one. begin_write_unless_bulk returns false,
  // and begins nothing, if a bulk write that runs alone runs or waits. A hasty one fails at once if
  // another bulk write runs.
  void begin_write(std::chrono::milliseconds max_wait);
  bool begin_write_unless_bulk(std::chrono::milliseconds max_wait);
  void begin_bulk(std::chrono::milliseconds max_wait, bool is_hasty);
  void begin_joined_bulk(std::chrono::milliseconds max_wait);

 private:
  enum class Mode : std::uint8_t { reading, writing, writing_alone };

  // A plan is kept with its statement, so requests have statements of their own.
  StatementCache& statements() { return is_request_ ? statements_of_requests_ : statements_; }
  void begin_with(Mode mode, std::vector<std::string> statements);
  std::string check_of_server();
  void forget_snapshot() noexcept;
  void replace_view(const std::string& name, const std::string& select, const std::string& digest);
  // Returns keys for new rows of a table, in ascending order.
  std::vector<std::int64_t> take_keys(std::string_view table, std::size_t count);
  // Returns the rows whose id, in `column`, is not stored.
  std::vector<std::size_t> not_stored(const InsertStatement& statement, std::size_t column,
                                      const CopiedRows& copied, std::span<const std::size_t> rows);
  // Inserts rows under a savepoint; returns their keys.
  std::vector<std::int64_t> copy_new(const InsertStatement& statement, const CopiedRows& copied,
                                     std::span<const std::size_t> rows);

  Mode mode_ = Mode::reading;  // of the transaction
  bool has_journal_ = false;
  bool may_guess_ = false;
  bool has_guessed_ = false;  // and the guess was not confirmed
  bool is_request_ = false;
  ConnectionSymbols* connection_symbols_;  // null if it uses no symbols
  std::int64_t server_ = 0;                // 0 if it is not checked
  std::unordered_map<std::string, std::vector<std::int64_t>> known_numbers_;  // of each statement
  // The statements that set them in a transaction.
  std::vector<std::string> settings_of_server_;
  std::vector<std::string> settings_of_requests_;
  std::vector<std::string> settings_of_writes_;
  StatementCache statements_{*this};
  StatementCache statements_of_requests_{*this};
  std::optional<CopiedScan> scan_;
};

}  // namespace comptroller::db::postgresql
