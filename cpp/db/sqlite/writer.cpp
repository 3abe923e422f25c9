#include "db/sqlite/writer.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "db/signals.hpp"
#include "model/error.hpp"

namespace comptroller::db::sqlite {

namespace {

constexpr std::size_t max_batch_size = 256;

// Keeps the changes of transactions in memory until they commit, whatever their size. If SQLite
// (3.40, that of Debian 12) rolls back to a savepoint after it has written a page to the log twice,
// it may write the next frames without a salt: after kill -9 they, and all later commits, are lost.
// Begins and ends outside of a transaction, in which SQLite ignores the setting.
class InMemory {
 public:
  explicit InMemory(SqliteConnection& connection) : connection_(connection) {
    connection_.execute("PRAGMA cache_spill = OFF");
  }
  ~InMemory() {
    try {
      connection_.execute("PRAGMA cache_spill = ON");
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): it takes only more memory
    }
  }
  InMemory(const InMemory&) = delete;
  InMemory& operator=(const InMemory&) = delete;

 private:
  SqliteConnection& connection_;
};

[[noreturn]] void throw_busy() {
  throw Error(Code::unavailable, "the writer is busy; try again later");
}

}  // namespace

Writer::Writer(SqliteConnection& connection, const OpenFile& file, LockFile& write_lock,
               const Interrupt& interrupt, std::chrono::milliseconds max_wait)
    : connection_(connection),
      file_(file),
      write_lock_(write_lock),
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
  queue_.push_back(&task);
  if (!is_led_) {
    is_led_ = true;
    task.state = Task::State::leading;
  }
  while (task.state == Task::State::queued) {
    const auto now = Clock::now();
    if (now >= task.deadline) {
      queue_.remove(&task);
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

bool Writer::give_up(Task& task, std::unique_lock<std::mutex>& lock) {
  if (task.state == Task::State::leading) {
    queue_.remove(&task);
    pass_leadership();
    return true;
  }
  if (queue_.remove(&task) != 0) return true;
  task.turn.wait(lock, [&] { return task.state == Task::State::done; });
  return false;
}

void Writer::check_interrupt(Task& task, std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  try {
    interrupt_.check();
    lock.lock();
  } catch (const Error&) {  // the database was closed; a write that has begun ends as it does
    lock.lock();
    if (give_up(task, lock)) throw;
  } catch (...) {
    lock.lock();
    give_up(task, lock);
    throw;
  }
}

// Reports the outcomes of tasks.
void Writer::finish(Tasks finished) noexcept {
  Tasks later;
  {
    const std::lock_guard lock(mutex_);
    while (!finished.empty()) {
      Task& task = *finished.front();
      task.state = Task::State::done;
      if (task.done) {
        later.splice(later.end(), finished, finished.begin());
      } else {
        task.turn.notify_one();  // its thread may destroy it when the mutex is free
        finished.pop_front();
      }
    }
  }
  report(later);
}

void Writer::stop_leading() noexcept {
  const std::lock_guard lock(mutex_);
  pass_leadership();
}

// Makes the first task in the queue the leader. Called with the mutex held.
void Writer::pass_leadership() noexcept {
  is_led_ = !queue_.empty();
  if (!is_led_) return;
  Task& first = *queue_.front();
  first.state = Task::State::leading;
  (first.done ? later_turn_ : first.turn).notify_one();
}

void Writer::report(const Tasks& later) noexcept {
  for (Task* const each : later) {
    const std::unique_ptr<Task> task(each);
    task->done(task->failure);
  }
}

void Writer::write(const std::function<void(Connection&)>& work) {
  Writing::refuse(this);
  const Writing writing(this);
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
  if (!later_thread_.joinable()) later_thread_ = std::thread([this] { run_queue(); });
  queue_.push_back(task.get());
  std::ignore = task.release();  // the queue owns it
  const bool has_waiting = std::exchange(has_later_, true);
  if (!is_led_) return pass_leadership();
  if (!has_waiting) later_turn_.notify_one();  // the thread must now watch deadlines
}

// Leads if the first task is a write that no thread waits for; ends tasks that are overdue.
void Writer::run_queue() noexcept {
  block_signals();
  const Writing writing(this);
  const auto leads = [&] {
    return !queue_.empty() && queue_.front()->done && queue_.front()->state == Task::State::leading;
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
      Task& task = *queue_.front();
      lock.unlock();
      lead(task);
      lock.lock();
    }
    const Tasks overdue = take_overdue();
    if (overdue.empty() && is_ending_) return;
    lock.unlock();
    report(overdue);
    lock.lock();
  }
}

// Removes the writes of write_later that will not run from the queue. Called with the mutex held.
Tasks Writer::take_overdue() noexcept {
  Tasks overdue;
  has_later_ = false;
  const auto now = Clock::now();
  for (auto next = queue_.begin(); next != queue_.end();) {
    const auto place = next++;
    Task& task = **place;
    if (!task.done) continue;
    try {
      if (is_ending_) throw Error(Code::closed, "the service is closed");
      interrupt_.check_open();
      if (now >= task.deadline && task.state == Task::State::queued) throw_busy();
      has_later_ = true;
    } catch (...) {
      task.failure = std::current_exception();
      overdue.splice(overdue.end(), queue_, place);
      if (task.state == Task::State::leading) pass_leadership();
    }
  }
  return overdue;
}

void Writer::lead(Task& task) noexcept {
  try {
    const LockGuard guard(write_lock_, task.deadline, &interrupt_);
    Tasks batch = take_batch();
    run(batch, task);
    finish(std::move(batch));
    checkpoint_if_due();
  } catch (...) {
    task.failure = std::current_exception();  // only this task failed to get the lock
    finish(take_alone(task));
  }
  stop_leading();
}

Tasks Writer::take_batch() {
  const std::lock_guard lock(mutex_);
  Tasks batch;
  while (batch.size() < max_batch_size && !queue_.empty() && queue_.front()->work) {
    queue_.front()->state = Task::State::running;
    batch.splice(batch.end(), queue_, queue_.begin());
  }
  return batch;
}

Tasks Writer::take_alone(const Task& task) {
  const std::lock_guard lock(mutex_);
  Tasks batch;
  batch.splice(batch.end(), queue_, std::ranges::find(queue_, &task));
  return batch;
}

void Writer::run(const Tasks& batch, const Task& leader) noexcept {
  std::optional<InMemory> in_memory;  // until the transaction has ended
  try {
    // The leader is the first task in the queue, so its deadline is the earliest.
    connection_.set_deadline(leader.deadline);
    // An interrupt undoes the whole transaction, so only a task that is alone in it can be
    // interrupted.
    if (batch.size() == 1) connection_.set_interrupt(&interrupt_);
    begin();
    if (!run_together(batch)) {
      undo();
      in_memory.emplace(connection_);
      begin();
      run_apart(batch);
    }
    if (std::ranges::all_of(batch, [](const Task* task) { return task->failure != nullptr; })) {
      return undo();
    }
    connection_.query("COMMIT").run();
    count(batch);
  } catch (...) {
    connection_.set_interrupt(nullptr);
    undo();
    for (Task* const task : batch) {
      if (!task->failure) task->failure = std::current_exception();
    }
  }
}

// Runs tasks without savepoints, for which SQLite would copy each page that a task changes. Returns
// false if a task of several failed after it had changed something.
bool Writer::run_together(const Tasks& batch) {
  const bool is_alone = batch.size() == 1;
  for (Task* const task : batch) {
    const std::int64_t before = connection_.changes();
    run_one(*task);
    if (task->failure && !is_alone && connection_.changes() != before) return false;
  }
  return true;
}

// Runs tasks, each in a savepoint.
void Writer::run_apart(const Tasks& batch) {
  for (Task* const task : batch) {
    task->failure = nullptr;
    connection_.query("SAVEPOINT task").run();
    run_one(*task);
    if (task->failure) connection_.query("ROLLBACK TO task").run();
    connection_.query("RELEASE task").run();
  }
}

void Writer::run_one(Task& task) {
  try {
    task.work(connection_);
  } catch (...) {
    task.failure = std::current_exception();
    forget_undone();
  }
  connection_.set_interrupt(nullptr);
  // A full disk can end the whole transaction; then the work of all tasks is lost.
  if (!connection_.in_transaction()) {
    throw Error(Code::unavailable, "the store could not be written; nothing was kept");
  }
}

void Writer::run_alone(bool is_patient, const std::function<void()>& work) {
  Task task;
  wait_for_turn(task, is_patient ? waits_of_patient * max_wait_ : max_wait_);
  std::optional<LockGuard> guard;  // held until a failed write is undone
  try {
    guard.emplace(write_lock_, task.deadline, &interrupt_);
    connection_.set_deadline(Deadline::max());
    if (connection_.in_transaction()) undo();  // of an earlier transaction whose rollback failed
    require_place();
    connection_.set_interrupt(&interrupt_);
    work();
    connection_.set_interrupt(nullptr);
  } catch (...) {
    task.failure = std::current_exception();
    connection_.set_interrupt(nullptr);
    undo();
  }
  guard.reset();
  finish(take_alone(task));
  stop_leading();
  if (task.failure) std::rethrow_exception(task.failure);
}

void Writer::run_bulk(const std::function<bool()>& work) {
  begin();
  const bool keeps = work();
  connection_.set_interrupt(nullptr);
  if (!keeps) return undo();
  connection_.query("COMMIT").run();
  if (is_checkpoint_due()) note_frames(connection_.truncate_log().value_or(frames_in_log_));
}

// Throws if the path of the database leads to another file or to none. Called with the write lock.
void Writer::require_place() {
  if (file_.has_place()) return;
  // Completes the open file, and leaves no log that the next opener would apply to the other one.
  std::ignore = connection_.truncate_log();
  file_.require_place();
}

void Writer::begin() {
  if (connection_.in_transaction()) undo();  // of an earlier transaction whose rollback failed
  require_place();
  connection_.query("BEGIN IMMEDIATE").run();
  connection_.read_now();
  connection_.renew_writing_state();
}

// Forgets what is known of changes that are undone.
void Writer::forget_undone() noexcept {
  connection_.symbols().forget();
  connection_.renew_writing_state();
}

// Counts the writes of a batch that was committed.
void Writer::count(const Tasks& batch) noexcept {
  const auto writes = static_cast<std::uint64_t>(
      std::ranges::count_if(batch, [](const Task* task) { return !task->failure; }));
  const std::lock_guard lock(mutex_);
  ++commits_.by_size[static_cast<std::size_t>(std::bit_width(writes - 1))];
  commits_.writes += writes;
}

Commits Writer::commits() const {
  const std::lock_guard lock(mutex_);
  return commits_;
}

void Writer::undo() noexcept {
  forget_undone();
  connection_.roll_back();
}

// A failed checkpoint loses no data.
void Writer::checkpoint_if_due() noexcept {
  if (!is_checkpoint_due()) return;
  sqlite3_wal_checkpoint_v2(connection_.handle(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr,
                            nullptr);
  plan_next_checkpoint();
}

bool Writer::is_checkpoint_due() noexcept {
  const bool has_begun_again = frames_in_log_ < checkpoint_at_ - frames_to_checkpoint;
  if (has_begun_again) checkpoint_at_ = frames_to_checkpoint;
  return frames_in_log_ >= checkpoint_at_;
}

void Writer::plan_next_checkpoint() noexcept {
  const auto in_file =
      static_cast<int>(sqlite_format::count_backfilled(connection_.handle()).value_or(0));
  const int left = frames_in_log_ - in_file;
  checkpoint_at_ = std::max(
      frames_to_checkpoint,
      frames_in_log_ + std::clamp(left, min_frames_between_attempts, frames_to_checkpoint));
}

}  // namespace comptroller::db::sqlite
