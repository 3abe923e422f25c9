// Connections that are lent to one user at a time.
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>

#include "db/idle_connections.hpp"
#include "db/interrupt.hpp"
#include "db/postgresql/connection.hpp"

namespace comptroller::db::postgresql {

// Safe for many threads.
class Pool {
 public:
  using Connect = std::function<std::unique_ptr<PostgresqlConnection>()>;
  // Throws Lost if a connection cannot be lent again.
  using Check = std::function<void(PostgresqlConnection&)>;
  using Borrowed = std::unique_ptr<PostgresqlConnection, std::function<void(Connection*)>>;

  // Opens no connection yet. `check` is called with each idle connection before it is lent again.
  // At most `max_lent` are lent at once. The interrupt must outlive the pool.
  Pool(Connect connect, Check check, std::size_t max_lent, const Interrupt& interrupt);

  // Lends a connection outside any transaction, an idle one if possible; it must be returned before
  // this object is destroyed. Who waits longest gets the next one. Throws unavailable if the wait
  // ends at the deadline.
  Borrowed lend(Deadline deadline);

 private:
  struct Waiter {
    bool has_turn = false;
    std::condition_variable turn;
  };

  std::unique_ptr<PostgresqlConnection> take_idle();
  bool can_be_lent(PostgresqlConnection& connection) const;
  void wait_for_turn(Deadline deadline);
  void end_turn() noexcept;
  void take_back(std::unique_ptr<PostgresqlConnection> connection) noexcept;

  Connect connect_;
  Check check_;
  std::size_t max_lent_;
  const Interrupt& interrupt_;
  std::mutex mutex_;
  IdleConnections<PostgresqlConnection> idle_;
  std::size_t lent_ = 0;
  std::list<Waiter*> waiters_;
};

}  // namespace comptroller::db::postgresql
