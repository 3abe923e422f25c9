#include "db/sqlite/writer.hpp"

#include <algorithm>
#include <bit>
#include <csignal>
#include <memory>

#include "model/error.hpp"

namespace comptroller::db::sqlite {

namespace {

constexpr std::size_t max_batch_size = 256;

thread_local const Writing* writing_of_thread = nullptr;

[[noreturn]] void throw_busy() {
  throw Error(Code::unavailable, "the writer is busy; try again later");
}

}  // namespace

Writing::Writing(const Writer& writer, bool is_bulk)
    : writer_(writer), is_bulk_(is_bulk), before_(writing_of_thread) {
  writing_of_thread = this;
}

Writing::~Writing() {
  writing_of_thread = before_;
}

void Writing::refuse(const Writer& writer) {
  for (const Writing* each = writing_of_thread; each != nullptr; each = each->before_) {
    if (&each->writer_ != &writer) continue;
    throw Error(Code::unsupported, each->is_bulk_
                                       ? "this thread is loading; write once the load has ended"
                                       : "this thread is writing; write once that has ended");
  }
}

Writer::Writer(SqliteConnection& connection, LockFile& write_lock, LockFile& commit_lock,
               const Interrupt& interrupt, std::chrono::milliseconds max_wait)
    : connection_(connection),
      write_lock_(write_lock),
      commit_lock_(commit_lock),
      interrupt_(interrupt),
      max_wait_(max_wait) {
  sqlite3_wal_hook(
      connection_.handle(),
      [](void* frames, sqlite3*, const char*, int count) {
        *static_cast<int*>(frames) = count;
        return SQLITE_OK;
      },
      &frames_in_log_);
}

Writer::~Writer() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    later_turn_.notify_one();
  }
  if (later_thread_.joinable()) later_thread_.join();
}

void Writer::wait_for_turn(Task& task, std::chrono::milliseconds max_wait) {
  task.deadline = Clock::now() + max_wait;
  std::unique_lock lock(mutex_);
  queue_.push(task);
  if (!is_led_) {
    is_led_ = true;
    task.state = Task::State::leading;
  }
  while (task.state == Task::State::queued) {
    const auto now = Clock::now();
    if (now >= task.deadline) {
      queue_.remove(task);
      throw_busy();
    }
    const bool is_notified =
        task.turn.wait_until(lock, std::min(task.deadline, now + check_interval),
                             [&] { return task.state != Task::State::queued; });
    if (!is_notified) check_interrupt(task, lock);
  }
  // A leader has taken the task, so the wait continues until its outcome is known.
  task.turn.wait(lock, [&] { return task.state != Task::State::running; });
}

void Writer::check_interrupt(Task& task, std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  try {
    interrupt_.check();
    lock.lock();
  } catch (...) {
    lock.lock();
    if (task.state == Task::State::leading) {
      queue_.remove(task);
      pass_leadership();
    } else if (!queue_.remove(task)) {
      task.turn.wait(lock, [&] { return task.state == Task::State::done; });
    }
    throw;
  }
}

// Ends the turn of the leading thread, and reports the outcomes of the tasks that it ran.
void Writer::stop_leading(TaskQueue finished) noexcept {
  TaskQueue later;
  {
    const std::lock_guard lock(mutex_);
    while (!finished.is_empty()) {
      Task& task = finished.pop();
      task.state = Task::State::done;
      if (task.done) {
        later.push(task);
      } else {
        task.turn.notify_one();  // its thread may destroy it when the mutex is free
      }
    }
    pass_leadership();
  }
  report(later);
}

// Makes the first task in the queue the leader. Called with the mutex held.
void Writer::pass_leadership() noexcept {
  is_led_ = !queue_.is_empty();
  if (!is_led_) return;
  Task& first = *queue_.first();
  first.state = Task::State::leading;
  (first.done ? later_turn_ : first.turn).notify_one();
}

void Writer::report(TaskQueue later) noexcept {
  while (!later.is_empty()) {
    const std::unique_ptr<Task> task(&later.pop());
    task->done(task->failure);
  }
}

void Writer::write(const std::function<void(Connection&)>& work) {
  Writing::refuse(*this);
  const Writing writing(*this);
  Task task;
  task.work = std::ref(work);
  wait_for_turn(task, max_wait_);
  if (task.state == Task::State::leading) lead(task);
  if (task.failure) std::rethrow_exception(task.failure);
}

void Writer::write_later(std::function<void(Connection&)> work,
                         std::function<void(std::exception_ptr)> done) {
  auto task = std::make_unique<Task>();
  task->work = std::move(work);
  task->done = std::move(done);
  task->deadline = Clock::now() + max_wait_;
  const std::lock_guard lock(mutex_);
  if (!later_thread_.joinable()) later_thread_ = std::thread([this] { run_later(); });
  const bool has_waiting = has_later_;
  has_later_ = true;
  queue_.push(*task.release());  // NOLINT(bugprone-unused-return-value): the queue owns it
  if (!is_led_) return pass_leadership();
  if (!has_waiting) later_turn_.notify_one();  // the thread must now watch deadlines
}

// Leads if the first task is a write that no thread waits for; ends tasks that are overdue.
void Writer::run_later() noexcept {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);  // the program's own threads handle signals
  const Writing writing(*this);
  const auto leads = [&] {
    return !queue_.is_empty() && queue_.first()->done &&
           queue_.first()->state == Task::State::leading;
  };
  std::unique_lock lock(mutex_);
  while (true) {
    const auto is_called = [&] { return is_ending_ || leads(); };
    if (has_later_) {
      later_turn_.wait_for(lock, check_interval, is_called);
    } else {
      later_turn_.wait(lock, [&] { return has_later_ || is_called(); });
    }
    if (leads() && !is_ending_) {
      Task& task = *queue_.first();
      lock.unlock();
      lead(task);
      lock.lock();
    }
    TaskQueue overdue = take_overdue();
    if (overdue.is_empty() && is_ending_) return;
    lock.unlock();
    report(overdue);
    lock.lock();
  }
}

// Removes the writes of write_later that will not run from the queue. Called with the mutex held.
TaskQueue Writer::take_overdue() noexcept {
  TaskQueue overdue;
  has_later_ = false;
  const auto now = Clock::now();
  for (Task *each = queue_.first(), *next = nullptr; each != nullptr; each = next) {
    next = each->next;
    if (!each->done) continue;
    try {
      if (is_ending_) throw Error(Code::closed, "the service is closed");
      interrupt_.check_open();
      if (now >= each->deadline && each->state == Task::State::queued) throw_busy();
      has_later_ = true;
    } catch (...) {
      each->failure = std::current_exception();
      queue_.remove(*each);
      if (each->state == Task::State::leading) pass_leadership();
      overdue.push(*each);
    }
  }
  return overdue;
}

void Writer::lead(Task& task) noexcept {
  TaskQueue batch;
  try {
    const LockGuard guard(write_lock_, task.deadline, &interrupt_);
    batch = take_batch();
    run(batch, task);
  } catch (...) {
    task.failure = std::current_exception();  // only this task failed to get the lock
    batch = take_alone(task);
  }
  stop_leading(batch);
}

TaskQueue Writer::take_batch() {
  const std::lock_guard lock(mutex_);
  TaskQueue batch;
  for (std::size_t size = 0; size < max_batch_size && !queue_.is_empty(); ++size) {
    if (!queue_.first()->work) break;
    Task& task = queue_.pop();
    task.state = Task::State::running;
    batch.push(task);
  }
  return batch;
}

TaskQueue Writer::take_alone(Task& task) {
  const std::lock_guard lock(mutex_);
  queue_.remove(task);
  TaskQueue batch;
  batch.push(task);
  return batch;
}

void Writer::run(const TaskQueue& batch, const Task& leader) noexcept {
  Task* const first = batch.first();
  try {
    // The leader is the first task in the queue, so its deadline is the earliest.
    connection_.set_deadline(leader.deadline);
    begin();
    bool has_succeeded = false;
    for (Task* task = first; task != nullptr; task = task->next) {
      run_one(*task, first->next == nullptr);
      has_succeeded = has_succeeded || !task->failure;
    }
    if (!has_succeeded) return undo();
    commit(leader.deadline);
    count(batch);
    checkpoint_if_due();
  } catch (...) {
    undo();
    for (Task* task = first; task != nullptr; task = task->next) {
      if (!task->failure) task->failure = std::current_exception();
    }
  }
}

void Writer::run_one(Task& task, bool is_alone) {
  if (!is_alone) connection_.query("SAVEPOINT task").run();
  try {
    // An interrupt undoes the whole transaction, so only a task that is alone in it can be
    // interrupted.
    if (is_alone) connection_.set_interrupt(&interrupt_);
    task.work(connection_);
  } catch (...) {
    task.failure = std::current_exception();
    connection_.symbols().forget();
  }
  connection_.set_interrupt(nullptr);
  // A full disk can end the whole transaction; then the work of all tasks is lost.
  if (!connection_.in_transaction()) {
    throw Error(Code::unavailable, "the store could not be written; nothing was kept");
  }
  if (is_alone) return;
  if (task.failure) connection_.query("ROLLBACK TO task").run();
  connection_.query("RELEASE task").run();
}

void Writer::begin() {
  if (connection_.in_transaction()) undo();  // of an earlier transaction whose rollback failed
  connection_.query("BEGIN IMMEDIATE").run();
}

void Writer::commit(Deadline deadline) {
  const LockGuard guard(commit_lock_, deadline);
  connection_.query("COMMIT").run();
}

// Counts the writes of a batch that was committed.
void Writer::count(const TaskQueue& batch) noexcept {
  std::uint64_t writes = 0;
  for (const Task* task = batch.first(); task != nullptr; task = task->next) {
    if (!task->failure) ++writes;
  }
  const std::lock_guard lock(mutex_);
  ++commits_.by_size[static_cast<std::size_t>(std::bit_width(writes - 1))];
  commits_.writes += writes;
}

Commits Writer::commits() const {
  const std::lock_guard lock(mutex_);
  return commits_;
}

void Writer::undo() noexcept {
  connection_.symbols().forget();
  connection_.roll_back();
}

void Writer::checkpoint_if_due() noexcept {
  if (frames_in_log_ < frames_to_checkpoint) return;
  // Frames that a reader needs stay for the next checkpoint. A failure loses no data; the next
  // commit encounters it again.
  sqlite3_wal_checkpoint_v2(connection_.handle(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr,
                            nullptr);
}

}  // namespace comptroller::db::sqlite
