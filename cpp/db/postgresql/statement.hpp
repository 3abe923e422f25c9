// The prepared statements of one connection, cached by their text.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "db/postgresql/channel.hpp"
#include "db/postgresql/part_size.hpp"
#include "db/postgresql/translation.hpp"
#include "db/query.hpp"
#include "db/symbols.hpp"

namespace comptroller::db::postgresql {

class StatementCache;

// A text that the server has prepared.
struct Prepared {
  Translation text;
  std::string name;
  std::vector<unsigned> parameter_types;
  std::vector<unsigned> column_types;
  std::vector<std::string> column_names;
};

// Has all rows after the first step, or if `is_in_parts` and in a transaction, a part of them.
// Must not outlive its connection.
class PostgresqlStatement final : public Statement {
 public:
  PostgresqlStatement(Channel& channel, StatementCache& cache, const Prepared& prepared,
                      bool is_in_parts);
  ~PostgresqlStatement() override { close_cursor(); }
  PostgresqlStatement(const PostgresqlStatement&) = delete;
  PostgresqlStatement& operator=(const PostgresqlStatement&) = delete;

  void bind(int index, const Value& value) override;
  void bind(std::string_view name, const Value& value) override;
  void bind_list(int index, std::span<const Value> values);
  bool step() override;
  std::int64_t run() override;
  void run_later() override;
  void run_with_next() override;
  std::optional<std::int64_t> insert() override;
  std::string place_of(int index, std::size_t row) override;
  void reset() override;

  bool is_in_parts() const { return is_in_parts_; }
  // The types of the parameters.
  const std::vector<unsigned>& types() const { return prepared_.parameter_types; }
  const std::vector<unsigned>& types_of_columns() const { return prepared_.column_types; }
  // Adds a run with the present parameters to a pipeline.
  void add_run(Session& session) const;
  // A text that only runs of this statement with these parameters have.
  std::string name_of_run() const { return name_of_run(parameters()); }

 private:
  struct Parameter {
    std::string bytes;
    bool is_null = true;
  };

  const Value& column_of_row(int index) override;
  Parameter& begin_bind(int index);
  // `prepared` has the same parameters as this statement.
  void execute(const Prepared& prepared);
  std::string fetch(const std::string& cursor) const;
  void close_cursor() noexcept;
  Parameters parameters() const;
  std::string name_of_run(const Parameters& parameters) const;

  const Libpq& pq_;
  Channel& channel_;
  StatementCache& cache_;
  const Prepared& prepared_;
  bool is_in_parts_;
  std::vector<Parameter> parameters_;
  std::string cursor_;             // its name; empty if there is none
  std::uint64_t transaction_ = 0;  // of the cursor
  Result result_;
  int row_ = -1;               // of the result
  bool has_all_ = false;       // whether the result has the last row
  bool is_expected_ = false;   // whether the result comes with that of the next request
  PartSize size_;              // of the last part that was fetched
  std::vector<Value> values_;  // of the columns that were read
};

// Returns the first column of a result, which is of integers.
std::vector<std::int64_t> numbers_of(const Result& result);

// Returns the key that an INSERT returned; nullopt if it inserted nothing.
std::optional<std::int64_t> key_of(const Result& result);

// Evicts idle texts, the least recently used first.
class StatementCache {
 public:
  static constexpr std::size_t max_texts = 256;

  explicit StatementCache(Channel& channel) : channel_(channel) {}

  // Returns a statement, which is in use until it is reset.
  PostgresqlStatement& take(std::string_view sql, bool is_in_parts);
  // Keeps the rows of a run for the next run with this name, until forget_kept.
  void keep(std::string run, Result rows) { kept_.emplace(std::move(run), std::move(rows)); }
  Result take_kept(const std::string& run);
  bool has_kept() const { return !kept_.empty(); }
  void forget_kept() { kept_.clear(); }
  // Returns an INSERT that returns the key of the row, with the same parameters.
  const Prepared& prepare_returning_key(const Translation& insert) {
    return entry_of(insert.sql + " RETURNING key").prepared;
  }

 private:
  struct Entry {
    Prepared prepared;
    std::list<PostgresqlStatement> statements;
    std::uint64_t last_use = 0;

    bool is_idle() const;
  };

  Entry& entry_of(std::string_view sql);
  Prepared prepare(Translation text);
  void make_room();

  Channel& channel_;
  std::unordered_multimap<std::string, Result> kept_;
  std::unordered_map<std::string, Entry, TextHash, std::equal_to<>> entries_;
  std::uint64_t uses_ = 0;
};

}  // namespace comptroller::db::postgresql
