// The only connection that writes, with group commit. Writes queue; the thread of the first one
// leads: it runs the queued writes in one transaction, commits once, and reports the outcomes to
// the other threads. If one fails after it has changed something, all run again, each in a
// savepoint. The writer has a thread of its own for writes that no thread waits for.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "db/sqlite/connection.hpp"
#include "db/sqlite/lock_file.hpp"
#include "db/sqlite/open_file.hpp"
#include "db/writing.hpp"

namespace comptroller::db::sqlite {

// A queued write. It is on the stack of the thread that waits for it, or on the heap if it has
// `done`. The writer's mutex guards it; while the task is running, only the leader uses it.
struct Task {
  enum class State : std::uint8_t { queued, leading, running, done };

  std::function<void(Connection&)> work;         // empty: a bulk write
  std::function<void(std::exception_ptr)> done;  // empty: a thread waits for the task
  Deadline deadline;  // for all waits together: for its turn, for locks and for other programs
  State state = State::queued;
  std::exception_ptr failure;
  std::condition_variable turn;
};

// Moving tasks between lists with splice does not allocate.
using Tasks = std::list<Task*>;

// Safe for many threads. A write is reported as done only after its transaction was committed, even
// if memory runs out: between taking a task from the queue and reporting its outcome, only the work
// of the task allocates, and its failure is the outcome.
class Writer {
 public:
  // The arguments must outlive the writer.
  Writer(SqliteConnection& connection, const OpenFile& file, LockFile& write_lock,
         const Interrupt& interrupt, std::chrono::milliseconds max_wait);
  // Ends the writes of write_later that have not begun.
  ~Writer();

  // See Database. Running work must not call these functions; they throw unsupported.
  void write(const std::function<void(Connection&)>& work);
  void write_later(std::function<void(Connection&)> work,
                   std::function<void(std::exception_ptr)> done);
  Commits commits() const;

  // For bulk writes (fill.hpp). Runs `work` while no other thread or process writes; waits longer
  // for them if `is_patient`. The writer's connection is not in a transaction.
  void run_alone(bool is_patient, const std::function<void()>& work);
  // Called by the work of run_alone: runs `work` in a transaction of the writer's connection, and
  // commits if it returns true.
  void run_bulk(const std::function<bool()>& work);
  // The work of run_alone calls it with the number of frames in the log after it has written it.
  void note_frames(int frames) noexcept {
    frames_in_log_ = frames;
    plan_next_checkpoint();
  }

 private:
  // A checkpoint is due when the log has frames_to_checkpoint frames, about 16 MB. If readers need
  // frames, the next attempt follows after as many frames as the last one left in the log, but at
  // least min_frames_between_attempts, and at most frames_to_checkpoint.
  // So the work of all attempts stays proportional to that of the writes, however long a reader
  // keeps its snapshot. Frequent attempts while few frames are left find a time without readers, at
  // which the log begins again.
  static constexpr int frames_to_checkpoint = 4000;
  static constexpr int min_frames_between_attempts = 200;

  // Waits until the task is done or this thread leads. Throws if neither happens in time; the task
  // is then not run.
  void wait_for_turn(Task& task, std::chrono::milliseconds max_wait);
  void check_interrupt(Task& task, std::unique_lock<std::mutex>& lock);
  // Removes a task that has not begun, otherwise waits for its outcome; returns whether it was
  // removed.
  bool give_up(Task& task, std::unique_lock<std::mutex>& lock);
  void lead(Task& task) noexcept;
  void finish(Tasks finished) noexcept;
  void stop_leading() noexcept;
  void pass_leadership() noexcept;
  static void report(const Tasks& later) noexcept;
  void run_queue() noexcept;
  Tasks take_overdue() noexcept;
  Tasks take_batch();
  Tasks take_alone(const Task& task);
  void run(const Tasks& batch, const Task& leader) noexcept;
  bool run_together(const Tasks& batch);
  void run_apart(const Tasks& batch);
  void run_one(Task& task);
  void require_place();
  void begin();
  void forget_undone() noexcept;
  void count(const Tasks& batch) noexcept;
  void undo() noexcept;
  void checkpoint_if_due() noexcept;
  bool is_checkpoint_due() noexcept;
  void plan_next_checkpoint() noexcept;

  SqliteConnection& connection_;
  const OpenFile& file_;
  LockFile& write_lock_;
  const Interrupt& interrupt_;
  std::chrono::milliseconds max_wait_;
  int frames_in_log_ = 0;
  int checkpoint_at_ = frames_to_checkpoint;  // frames in the log

  mutable std::mutex mutex_;
  Commits commits_;
  Tasks queue_;
  bool is_led_ = false;
  bool has_later_ = false;  // whether writes of write_later may be queued
  bool is_ending_ = false;
  std::condition_variable later_turn_;
  std::thread later_thread_;  // started by the first write_later
};

}  // namespace comptroller::db::sqlite
