// All operations by name, on one store. Safe for many threads.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "db/database.hpp"
#include "json/writer.hpp"
#include "model/principal.hpp"
#include "rules/controls.hpp"
#include "service/background_work.hpp"
#include "service/cursor.hpp"
#include "service/parameters.hpp"
#include "service/pending_write.hpp"

namespace comptroller::service {

// The clock and the source of ids, which are passed to the rules.
struct Environment {
  std::function<Timestamp()> now;
  rules::MakeId make_id;  // returns a new UUID of version 7
};
Environment system_environment();

struct Call {
  std::string operation;
  std::vector<Parameter> parameters;
  std::string body;  // a JSON object, or empty
  std::optional<std::string> idempotency_key;
};

class Service {
 public:
  Service(std::unique_ptr<db::Database> database, Environment environment);
  // Ends queued writes and background work. No call may be running.
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Runs an operation; returns its answer or throws its Error. A write is durable when this
  // returns.
  Answer call(const Principal& principal, const Call& call);
  // Runs a read in the caller's snapshot. Throws as call() does.
  std::string read(const Principal& principal, const Call& call, db::Connection& snapshot);
  // Returns the operation of a call; throws the Error of an invalid call.
  const Operation& admit(const Principal& principal, const Call& call) const;

  // Throws closed after close(), and in a forked child of the process that opened the store.
  void check_usable() const;
  // Rejects later calls, and ends running reads, loads and background work; other running writes
  // finish. May be called more than once.
  void close();
  bool is_forked() const;

  const std::unique_ptr<db::Database>& database() const { return database_; }
  const Environment& environment() const { return environment_; }
  // Returns the keys that the store has in the connection's transaction.
  CursorKeys cursor_keys(db::Connection& connection);
  BackgroundWork& background() { return background_; }
  // Starts background work that a load or an earlier process left unfinished.
  void resume_background_work() noexcept;
  KeysInFlight& keys_in_flight() { return keys_in_flight_; }

 private:
  std::unique_ptr<db::Database> database_;
  Environment environment_;
  std::mutex mutex_;  // guards the two members below
  CursorKeys cursor_keys_{Secret{}};
  std::optional<std::int64_t> content_of_cursor_keys_;  // see Connection::content
  pid_t process_;
  std::atomic<bool> is_closed_ = false;
  KeysInFlight keys_in_flight_;
  BackgroundWork background_;
};

inline Audience audience_of(const Principal& principal) {
  return principal.is_operator() ? Audience::provider : Audience::client;
}

}  // namespace comptroller::service
