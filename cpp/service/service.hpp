// All operations by name, on one store. Safe for many threads.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "db/database.hpp"
#include "model/principal.hpp"
#include "service/pending_write.hpp"
#include "store/journal_snapshot.hpp"

namespace comptroller::service {

Environment system_environment();
// The same with the clock of a database.
Environment environment_of(const db::Database& database);

class Service {
 public:
  // `progress` is called while a store of an earlier version gets its journal.
  Service(std::unique_ptr<db::Database> database, Environment environment,
          const store::RecordProgress& progress = {});
  // Ends queued writes and background work. No call may be running.
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Runs an operation; returns its answer or throws its Error. A write is durable when this
  // returns.
  Answer call(const Principal& principal, const Call& call);
  // Runs a read if it is short; nullopt if it is not.
  std::optional<Answer> call_if_short(const Principal& principal, const Call& call);
  // Reads the request of a read or a write; throws the Error of an invalid call.
  PreparedCall prepare_read(const Principal& principal, const Call& call) const;
  PendingWrite prepare_write(const Principal& principal, const Call& call);
  // Runs a short read in the caller's snapshot; throws TooLong if its page is large.
  std::string run_short(const PreparedCall& read, const Principal& principal,
                        db::Connection& snapshot);

  // Makes indexes that an earlier write has left out, unless a bulk write runs.
  void make_missing_indexes();

  // Gives the entries of committed writes their sequence numbers, so that a read which begins later
  // finds them in the journal. Leaves them without if it cannot now, such as beside a load.
  void sequence_entries();
  // Does so soon, on another thread. Called after a write.
  void sequence_entries_later() noexcept;

  // Throws closed after close(), and in a forked child of the process that opened the store.
  void check_usable() const;
  // Rejects later calls, and ends running reads, loads and background work; other running writes
  // finish. May be called more than once.
  void close();
  bool is_forked() const;

  const std::unique_ptr<db::Database>& database() const { return database_; }
  const Environment& environment() const { return resources_.environment; }
  // Starts background work that a load or an earlier process left unfinished.
  void resume_background_work() noexcept;

 private:
  Answer read(const PreparedCall& read, const Principal& principal, const Operation& operation,
              const store::PageBytes& bytes);
  // Throws closed, insufficient_scope, or the error of the idempotency key.
  void check(const Principal& principal, const Call& call) const;

  std::unique_ptr<db::Database> database_;
  pid_t process_;
  std::atomic<bool> is_closed_ = false;
  CallResources resources_;
  std::optional<BackgroundWork> sequencer_;  // only if entries get their sequence numbers later
};

}  // namespace comptroller::service
