#include "db/sqlite/writer.hpp"

#include <algorithm>
#include <bit>

#include "model/error.hpp"

namespace comptroller::db::sqlite {

namespace {

constexpr std::chrono::seconds longest_wait{30};
constexpr std::chrono::milliseconds longest_silence{100};
constexpr std::size_t largest_batch = 256;
constexpr int frames_to_checkpoint = 4000;  // about 16 MB of log

std::chrono::steady_clock::time_point deadline_from_now() {
  return std::chrono::steady_clock::now() + longest_wait;
}

}  // namespace

Writer::Writer(SqliteConnection& connection, LockFile& write_lock, LockFile& moment_lock,
               std::function<void()> while_waiting)
    : connection_(connection),
      write_lock_(write_lock),
      moment_lock_(moment_lock),
      while_waiting_(std::move(while_waiting)) {
  sqlite3_wal_hook(
      connection_.handle(),
      [](void* frames, sqlite3*, const char*, int count) {
        *static_cast<int*>(frames) = count;
        return SQLITE_OK;
      },
      &frames_in_log_);
}

void Writer::refuse_nesting() const {
  if (in_bulk_ != std::this_thread::get_id()) return;
  throw Error(Code::unavailable, "this thread is loading; write once the load has ended");
}

bool Writer::wait_to_lead(Task& task, Deadline deadline) {
  refuse_nesting();
  std::unique_lock lock(mutex_);
  queue_.push_back(&task);
  if (!is_led_) {
    is_led_ = true;
    return true;
  }
  const auto is_answered = [&] { return task.is_done || task.may_lead; };
  while (!task.turn.wait_until(
      lock, std::min(deadline, std::chrono::steady_clock::now() + longest_silence), is_answered)) {
    if (std::ranges::find(queue_, &task) == queue_.end()) {
      // A leader is already at it: its outcome is the answer.
      task.turn.wait(lock, [&] { return task.is_done; });
    } else if (std::chrono::steady_clock::now() >= deadline) {
      std::erase(queue_, &task);
      throw Error(Code::unavailable, "the writer is busy; try again later");
    } else {
      wait_on(task, lock);
    }
  }
  return !task.is_done;
}

// Tells that this thread waits still.
void Writer::wait_on(Task& task, std::unique_lock<std::mutex>& lock) {
  if (!while_waiting_) return;
  lock.unlock();
  try {
    while_waiting_();
  } catch (...) {
    lock.lock();
    withdraw(task, lock);
    throw;
  }
  lock.lock();
}

// Nobody may do what a thread that stops waiting wanted, or wait for it.
void Writer::withdraw(Task& task, std::unique_lock<std::mutex>& lock) {
  const bool is_queued = std::erase(queue_, &task) > 0;
  if (task.may_lead) return hand_on();
  if (!is_queued) task.turn.wait(lock, [&] { return task.is_done; });
}

void Writer::stop_leading(std::span<Task* const> finished) {
  const std::lock_guard lock(mutex_);
  for (Task* task : finished) {
    task->is_done = true;
    task->turn.notify_one();
  }
  hand_on();
}

// The first in line leads now. The caller has the mutex.
void Writer::hand_on() {
  is_led_ = !queue_.empty();
  if (is_led_) {
    queue_.front()->may_lead = true;
    queue_.front()->turn.notify_one();
  }
}

void Writer::write(const std::function<void(Connection&)>& work) {
  Task task;
  task.work = &work;
  if (wait_to_lead(task, deadline_from_now())) lead(task);
  if (task.failure) std::rethrow_exception(task.failure);
}

void Writer::lead(Task& task) {
  std::vector<Task*> batch;
  try {
    const LockFile::Hold hold(write_lock_, deadline_from_now(), while_waiting_);
    {
      const std::lock_guard lock(mutex_);
      while (!queue_.empty() && batch.size() < largest_batch && queue_.front()->work != nullptr) {
        batch.push_back(queue_.front());
        queue_.pop_front();
      }
    }
    run(batch);
  } catch (...) {
    // The lock is not to be had: that is the leader's failure alone.
    {
      const std::lock_guard lock(mutex_);
      std::erase(queue_, &task);
    }
    task.failure = std::current_exception();
  }
  stop_leading(batch);
}

void Writer::run(std::span<Task* const> batch) {
  try {
    connection_.query("BEGIN IMMEDIATE").run();
    for (Task* task : batch) run_one(*task, batch.size() == 1);
    const auto kept = static_cast<std::size_t>(
        std::ranges::count_if(batch, [](const Task* task) { return task->failure == nullptr; }));
    if (kept == 0) {
      undo();
      return;
    }
    commit();
    count(kept);
    checkpoint_if_due();
  } catch (...) {
    undo();
    for (Task* task : batch) {
      if (!task->failure) task->failure = std::current_exception();
    }
  }
}

void Writer::run_one(Task& task, bool is_alone) {
  if (!is_alone) connection_.query("SAVEPOINT task").run();
  try {
    (*task.work)(connection_);
  } catch (...) {
    task.failure = std::current_exception();
    connection_.symbols().forget();
  }
  // A full disk can end the whole transaction: then nobody's work is left.
  if (!connection_.in_transaction()) {
    throw Error(Code::unavailable, "the store could not be written; nothing was kept");
  }
  if (is_alone) return;
  if (task.failure) connection_.query("ROLLBACK TO task").run();
  connection_.query("RELEASE task").run();
}

void Writer::commit() {
  const LockFile::Hold hold(moment_lock_, deadline_from_now());
  connection_.query("COMMIT").run();
}

void Writer::count(std::size_t writes) {
  const std::lock_guard lock(mutex_);
  ++commits_.by_size.at(std::bit_width(writes - 1));
  commits_.writes += writes;
}

Commits Writer::commits() const {
  const std::lock_guard lock(mutex_);
  return commits_;
}

void Writer::undo() {
  connection_.symbols().forget();
  if (connection_.in_transaction()) {
    sqlite3_exec(connection_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
}

void Writer::checkpoint_if_due() {
  if (frames_in_log_ < frames_to_checkpoint) return;
  // A reader in the way leaves frames behind for the next time; a failure is the next commit's to
  // meet.
  sqlite3_wal_checkpoint_v2(connection_.handle(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr,
                            nullptr);
}

void Writer::while_idle(const std::function<void(SqliteConnection&)>& action) {
  Task task;
  const Deadline deadline = deadline_from_now();
  wait_to_lead(task, deadline);
  {
    const std::lock_guard lock(mutex_);
    std::erase(queue_, &task);
  }
  try {
    const LockFile::Hold hold(write_lock_, deadline, while_waiting_);
    in_bulk_ = std::this_thread::get_id();
    action(connection_);
  } catch (...) {
    task.failure = std::current_exception();
    undo();
  }
  in_bulk_ = std::thread::id();
  stop_leading({});
  if (task.failure) std::rethrow_exception(task.failure);
}

void Writer::write_bulk(const std::function<bool(Connection&)>& work) {
  while_idle([&](SqliteConnection& connection) {
    connection.query("BEGIN IMMEDIATE").run();
    if (!work(connection)) {
      undo();
      return;
    }
    commit();
    // What a reader still needs stays in the log: other writers do not wait for it.
    sqlite3_busy_timeout(connection.handle(), 0);
    sqlite3_wal_checkpoint_v2(connection.handle(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr,
                              nullptr);
    sqlite3_busy_timeout(connection.handle(), busy_timeout_ms);
  });
}

}  // namespace comptroller::db::sqlite
