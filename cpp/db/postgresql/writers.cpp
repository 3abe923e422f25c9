#include "db/postgresql/writers.hpp"

#include <algorithm>
#include <utility>

#include "db/signals.hpp"
#include "db/writing.hpp"
#include "model/error.hpp"

namespace comptroller::db::postgresql {

namespace {

constexpr int max_attempts = 5;
constexpr std::chrono::milliseconds max_wait_unless_bulk{5'000};

std::chrono::milliseconds time_until(Deadline deadline) {
  using std::chrono::milliseconds;
  const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now());
  return std::max(left, milliseconds(1));  // 0 is no limit
}

[[noreturn]] void throw_closed() {
  throw Error(Code::closed, "the service is closed");
}

}  // namespace

Writers::Writers(Pool::Connect connect, Pool::Check check, const Interrupt& interrupt,
                 std::chrono::milliseconds max_wait)
    : interrupt_(interrupt),
      max_wait_(max_wait),
      pool_(std::move(connect), std::move(check), max_writers, interrupt) {}

void Writers::end() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    later_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Writers::write(const std::function<void(Connection&)>& work) {
  Writing::refuse(this);
  const Writing writing(this);
  run(work, Clock::now() + max_wait_);
}

bool Writers::write_unless_bulk(const std::function<void(Connection&)>& work) {
  Writing::refuse(this);
  const Writing writing(this);
  return run(work, Clock::now() + std::min(max_wait_, max_wait_unless_bulk), false);
}

bool Writers::run(const std::function<void(Connection&)>& work, Deadline deadline, bool waits) {
  Pool::Borrowed connection = pool_.lend(deadline);
  for (int attempt = 1;; ++attempt) {
    try {
      if (waits) {
        connection->begin_write(time_until(deadline));
      } else if (!connection->begin_write_unless_bulk(time_until(deadline))) {
        return false;
      }
      work(*connection);
      connection->commit();
      const std::lock_guard lock(mutex_);
      ++commits_.by_size.front();
      ++commits_.writes;
      return true;
    } catch (const Conflict&) {
      if (attempt == max_attempts || Clock::now() >= deadline) throw;
      connection->roll_back();
    } catch (const Lost&) {
      if (attempt == max_attempts || Clock::now() >= deadline) throw;
      connection.reset();
      connection = pool_.lend(deadline);
    }
  }
}

void Writers::write_bulk(const Filling& filling, const Pool::Connect& connect_alone,
                         const std::function<bool(Connection&)>& work) {
  Writing::refuse(this);
  const Writing writing(this, true);
  const auto max_wait = filling.is_patient ? waits_of_patient * max_wait_ : max_wait_;
  const Pool::Borrowed lent = pool_.lend(Clock::now() + max_wait);
  const auto alone = filling.has_own_symbols ? connect_alone() : nullptr;
  PostgresqlConnection* const connection = alone ? alone.get() : lent.get();
  filling.may_be_joined ? connection->begin_joined_bulk(max_wait)
                        : connection->begin_bulk(max_wait, filling.is_hasty);
  if (work(*connection)) connection->commit();
}

void Writers::write_later(std::function<void(Connection&)> work,
                          std::function<void(std::exception_ptr)> done) {
  const std::lock_guard lock(mutex_);
  if (is_ending_) throw_closed();
  queue_.push_back({std::move(work), std::move(done), Clock::now() + max_wait_});
  if (idle_threads_ < queue_.size() && threads_.size() < max_writers) {
    try {
      threads_.emplace_back([this] { run_queue(); });
    } catch (...) {
      if (threads_.empty()) {
        queue_.pop_back();
        throw;
      }
    }
  }
  later_.notify_one();
}

void Writers::run_queue() noexcept {
  block_signals();
  const Writing writing(this);
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_threads_;
    later_.wait(lock, [&] { return is_ending_ || !queue_.empty(); });
    --idle_threads_;
    if (queue_.empty()) return;
    std::list<Task> taken;
    taken.splice(taken.end(), queue_, queue_.begin());
    lock.unlock();
    run_task(taken.front());
    taken.clear();
    lock.lock();
  }
}

void Writers::run_task(Task& task) noexcept {
  std::exception_ptr failure;
  try {
    {
      const std::lock_guard lock(mutex_);
      if (is_ending_) throw_closed();
    }
    interrupt_.check_open();
    run(task.work, task.deadline);
  } catch (...) {
    failure = std::current_exception();
  }
  task.done(failure);
}

Commits Writers::commits() const {
  const std::lock_guard lock(mutex_);
  return commits_;
}

}  // namespace comptroller::db::postgresql
