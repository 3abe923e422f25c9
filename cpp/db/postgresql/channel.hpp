// A session with its transactions, for the statements of a connection.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "db/postgresql/session.hpp"

namespace comptroller::db::postgresql {

// For one thread at a time.
class Channel {
 public:
  explicit Channel(std::unique_ptr<Session> session) : session_(std::move(session)) {}

  bool is_usable() { return forgotten_ < max_forgotten && session_->is_usable(); }
  Session& session() { return *session_; }
  // Whether each transaction may run in another session of the server, as behind a pooler.
  bool is_behind_pooler() const { return is_behind_pooler_; }
  void set_behind_pooler() { is_behind_pooler_ = true; }
  // Whether the statements that begin the transaction were sent.
  bool has_begun() const { return is_in_transaction_ && beginning_.empty(); }
  // The number of the transaction; 0 outside of one.
  std::uint64_t transaction() const { return is_in_transaction_ ? transactions_ : 0; }

  // Runs what `add` adds to the pipeline, after the statements that begin the transaction. Returns
  // the last result.
  Result exchange(const std::function<void(Session&)>& add) {
    return std::move(exchange_all(add).back());
  }
  std::vector<Result> exchange_all(const std::function<void(Session&)>& add);
  // Sends a statement without parameters with the next request of this transaction.
  void run_in_transaction(std::string sql) {
    (beginning_.empty() ? later_ : beginning_).push_back(std::move(sql));
  }
  // Closes a cursor of this transaction with its next request.
  void close_cursor(const std::string& name) { closing_.push_back("CLOSE " + name); }
  // From now on sends a statement without parameters before each request outside of transactions,
  // which is in one transaction with it.
  void run_before_requests(std::string sql) { before_requests_.push_back(std::move(sql)); }
  // Removes a prepared statement. A pooler, which gives it a name of its own, keeps it until the
  // connection ends; so the connection is not usable any more after many.
  void forget_prepared(const std::string& name);
  // Adds a request, which the next one completes; that call, or commit, throws its failure. `read`
  // gets the result, unless commit completes it.
  using ReadResult = std::function<void(Result)>;
  void add_later(const std::function<void(Session&)>& add, ReadResult read = {});
  // See Session.
  void copy_in(const std::string& sql, std::string_view data);
  std::string copy_out(const std::string& sql);
  // Returns a name that was not used before.
  std::string make_name(std::string_view prefix) {
    return std::string(prefix) + std::to_string(++names_);
  }
  // Sends what begins the transaction; otherwise the first statement does.
  void begin_now();

  // Throws outcome_unknown if the connection is lost meanwhile.
  void commit();
  void roll_back() noexcept;

 protected:
  // Begins a transaction with these statements, which are sent with the first one.
  void begin(std::vector<std::string> statements);

 private:
  static constexpr std::size_t max_forgotten = 1'000;

  void add_waiting();
  void add_statements(const std::vector<std::string>& statements);
  void complete_waiting();

  std::unique_ptr<Session> session_;
  bool is_behind_pooler_ = false;
  std::size_t forgotten_ = 0;  // statements that the pooler keeps
  bool is_in_transaction_ = false;
  std::uint64_t transactions_ = 0;
  std::uint64_t names_ = 0;
  std::vector<std::string> beginning_;  // statements that were not sent yet
  std::vector<std::string> later_;
  std::vector<std::string> closing_;  // of cursors of the transaction
  std::vector<std::string> before_requests_;
  std::size_t unread_ = 0;                                   // results of add_later
  std::vector<std::pair<std::size_t, ReadResult>> readers_;  // of some of them, by their place
};

}  // namespace comptroller::db::postgresql
