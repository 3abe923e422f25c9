// One connection to a server, by libpq. Requests are sent together in a pipeline, in one round
// trip.
#pragma once

#include <sys/types.h>

#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "db/database.hpp"
#include "db/interrupt.hpp"
#include "db/postgresql/failures.hpp"
#include "db/postgresql/libpq.hpp"

namespace comptroller::db::postgresql {

struct ClearResult {
  void operator()(PGresult* result) const { libpq().clear(result); }
};
using Result = std::unique_ptr<PGresult, ClearResult>;

// The encoded parameters of a statement; a null pointer is NULL.
struct Parameters {
  std::vector<const char*> values;
  std::vector<int> lengths;
  std::vector<int> formats;
};

// For one thread at a time. In a forked child, requests throw closed, and the destructor leaves the
// socket to the parent. Requests of a broken session throw Lost.
class Session {
 public:
  // Connects. Throws unavailable if the server cannot be reached, else unusable. No message shows a
  // password. The interrupt must outlive the session.
  Session(const std::string& address, bool is_read_only, const Interrupt& interrupt);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Whether the connection was not lost, as far as is known without a request.
  bool is_usable();
  // Whether the connection was lost during a request, or may have results that nobody has read.
  bool is_broken() const { return is_broken_; }
  // Whether the session is in no transaction, or only the result of its end is unread.
  bool is_idle() const {
    return is_unread_ || pq_.transaction_status(connection_) == transaction_idle;
  }
  // Whether a failure ended the transaction.
  bool has_failed() const {
    return !is_unread_ && pq_.transaction_status(connection_) == transaction_failed;
  }
  int server_version() const { return pq_.server_version(connection_); }
  // The process id of the server, as reported at connect; a pooler reports another one.
  int process_of_server() const { return pq_.process_of_server(connection_); }
  std::string parameter(const char* name) const;
  // A parameter of the connection, from the address or the environment.
  std::string option(std::string_view name) const;

  // Throws if the interrupt asks for it. Called before requests, some of which the server may
  // answer without a pause.
  void check_interrupt();

  // Add requests to the pipeline.
  void add_statement(const std::string& sql);
  void add_statement(const std::string& sql, std::span<const unsigned> types,
                     const Parameters& parameters);
  void add_prepare(const std::string& name, const std::string& sql);
  void add_describe(const std::string& name);
  void add_prepared(const std::string& name, const Parameters& parameters);
  // Sends the requests, and returns their results in order. Throws the first failure; the requests
  // after it were then not executed. `may_interrupt`: an interrupt cancels the requests.
  std::vector<Result> run(bool may_interrupt = true);
  // Ends the requests of a transaction that is undone, whose results do not matter. Waits for them
  // without an interrupt, for at most 5 s; the session is then broken.
  void run_undone() noexcept;
  // Sends the requests, which end the transaction, and returns at once. Their results are read
  // after the next requests were sent.
  void send();

  // Runs several statements without parameters; throws the first failure.
  void run_script(const std::string& sql);
  // Runs a COPY ... FROM STDIN with this data; throws its failure.
  void copy_in(const std::string& sql, std::string_view data);
  // Runs a COPY ... TO STDOUT; returns its data, or throws its failure.
  std::string copy_out(const std::string& sql);

 private:
  void check_sent(int is_sent);
  // Throws closed in a forked child, and Lost if the session is broken: a new request would get the
  // result of an earlier one.
  void check_usable();
  void read_unread(bool may_interrupt);
  void run_outside_pipeline(const std::function<void()>& request);
  void begin_copy(const std::string& sql, int direction);
  void send_copied(std::string_view data);
  std::vector<Result> read_results(bool is_pipeline, bool may_interrupt);
  // Does the same, but returns the first failure in `failed`.
  std::vector<Result> read_to_end(bool is_pipeline, bool may_interrupt, Result& failed);
  void wait(bool may_interrupt);
  bool has_unsent();
  void wait_for_server(bool is_sending, bool may_interrupt);
  void cancel();
  [[noreturn]] void throw_lost();
  [[noreturn]] void throw_lost(const char* message);
  [[noreturn]] void fail(const PGresult* result);

  const Libpq& pq_;
  PGconn* connection_ = nullptr;
  const Interrupt& interrupt_;
  pid_t process_;
  bool is_broken_ = false;
  bool is_unread_ = false;           // whether results of `send` are not read yet
  std::exception_ptr interruption_;  // thrown when the canceled requests have ended
  Deadline end_ = Deadline::max();   // of the wait for requests that were canceled or undone
  std::future<void> canceled_;       // when the server has been asked
  Deadline next_check_{};            // of the interrupt
};

}  // namespace comptroller::db::postgresql
