// The one connection that writes, with group commit: threads queue, the first in line runs what is
// queued in one transaction (a savepoint each), commits once and wakes the rest.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <thread>

#include "db/sqlite/connection.hpp"
#include "db/sqlite/lock_file.hpp"

namespace comptroller::db::sqlite {

class Writer {
 public:
  // All must outlive the writer. `while_waiting` is called now and then by a thread that waits for
  // its turn; what it throws ends the wait.
  Writer(SqliteConnection& connection, LockFile& write_lock, LockFile& moment_lock,
         std::function<void()> while_waiting);

  // See Database::write and Database::write_bulk. What `work` of the latter calls may not write
  // itself: that is unavailable.
  void write(const std::function<void(Connection&)>& work);
  void write_bulk(const std::function<bool(Connection&)>& work);
  Commits commits() const;
  // Runs `action` while nobody writes, in this process or another.
  void while_idle(const std::function<void(SqliteConnection&)>& action);

 private:
  using Deadline = std::chrono::steady_clock::time_point;

  struct Task {
    const std::function<void(Connection&)>* work = nullptr;  // null: wants the writer for itself
    std::exception_ptr failure;
    bool is_done = false;
    bool may_lead = false;
    std::condition_variable turn;
  };

  // Queues the task and waits until it is done or this thread leads. True: it leads.
  bool wait_to_lead(Task& task, Deadline deadline);
  void wait_on(Task& task, std::unique_lock<std::mutex>& lock);
  void withdraw(Task& task, std::unique_lock<std::mutex>& lock);
  void lead(Task& task);
  void stop_leading(std::span<Task* const> finished);
  void hand_on();
  void refuse_nesting() const;
  void run(std::span<Task* const> batch);
  void run_one(Task& task, bool is_alone);
  void commit();
  void count(std::size_t writes);
  void undo();
  void checkpoint_if_due();

  SqliteConnection& connection_;
  LockFile& write_lock_;
  LockFile& moment_lock_;
  std::function<void()> while_waiting_;
  int frames_in_log_ = 0;

  mutable std::mutex mutex_;
  Commits commits_;
  std::deque<Task*> queue_;
  bool is_led_ = false;
  std::atomic<std::thread::id> in_bulk_;  // the thread that has the writer for itself
};

}  // namespace comptroller::db::sqlite
