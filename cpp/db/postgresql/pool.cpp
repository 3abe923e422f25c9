#include "db/postgresql/pool.hpp"

#include <algorithm>
#include <utility>

#include "model/error.hpp"

namespace comptroller::db::postgresql {

Pool::Pool(Connect connect, Check check, std::size_t max_lent, const Interrupt& interrupt)
    : connect_(std::move(connect)),
      check_(std::move(check)),
      max_lent_(max_lent),
      interrupt_(interrupt) {}

Pool::Borrowed Pool::lend(Deadline deadline) {
  wait_for_turn(deadline);
  try {
    std::unique_ptr<PostgresqlConnection> connection = take_idle();
    while (connection && !can_be_lent(*connection)) connection = take_idle();
    if (!connection) connection = connect_();
    return {connection.release(), [this](Connection* lent) {
              take_back(
                  std::unique_ptr<PostgresqlConnection>(static_cast<PostgresqlConnection*>(lent)));
            }};
  } catch (...) {
    end_turn();
    throw;
  }
}

std::unique_ptr<PostgresqlConnection> Pool::take_idle() {
  const std::lock_guard lock(mutex_);
  return idle_.take();
}

bool Pool::can_be_lent(PostgresqlConnection& connection) const {
  if (!connection.can_be_lent()) return false;
  try {
    check_(connection);
    return true;
  } catch (const Lost&) {
    return false;
  }
}

void Pool::wait_for_turn(Deadline deadline) {
  std::unique_lock lock(mutex_);
  if (lent_ < max_lent_) {
    ++lent_;
    return;
  }
  Waiter waiter;
  const auto place = waiters_.insert(waiters_.end(), &waiter);
  while (!waiter.turn.wait_until(lock, std::min(deadline, Clock::now() + check_interval),
                                 [&] { return waiter.has_turn; })) {
    lock.unlock();
    try {
      if (Clock::now() >= deadline) {
        throw Error(Code::unavailable, "all connections for writes are in use; try again later");
      }
      interrupt_.check();
    } catch (...) {
      lock.lock();
      if (!waiter.has_turn) {
        waiters_.erase(place);
        throw;
      }
      lock.unlock();
      end_turn();
      throw;
    }
    lock.lock();
  }
}

// Passes the turn to who waits longest.
void Pool::end_turn() noexcept {
  const std::lock_guard lock(mutex_);
  if (waiters_.empty()) {
    --lent_;
    return;
  }
  waiters_.front()->has_turn = true;
  waiters_.front()->turn.notify_one();
  waiters_.pop_front();
}

void Pool::take_back(std::unique_ptr<PostgresqlConnection> connection) noexcept {
  connection->roll_back();                       // the user may have failed inside a transaction
  std::unique_ptr<PostgresqlConnection> unused;  // is closed after the mutex is free
  {
    const std::lock_guard lock(mutex_);
    if (connection->session().is_broken() || !connection->session().is_idle()) {
      idle_.clear();  // the server has probably ended the others, too
    } else {
      unused = idle_.keep(std::move(connection));
    }
  }
  end_turn();
}

}  // namespace comptroller::db::postgresql
