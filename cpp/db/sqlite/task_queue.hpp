// The queue of writes.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>

#include "db/database.hpp"
#include "db/sqlite/interrupt.hpp"

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
  Task* next = nullptr;
  std::condition_variable turn;
};

// First in, first out. Links the tasks themselves and never allocates.
class TaskQueue {
 public:
  bool is_empty() const { return first_ == nullptr; }
  Task* first() const { return first_; }
  void push(Task& task) {
    task.next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = &task;
    last_ = &task;
  }
  // Removes the first task; there must be one.
  Task& pop() {
    Task& task = *first_;
    first_ = task.next;
    return task;
  }
  // Returns false if the task is not in the queue.
  bool remove(const Task& task) {
    Task* before = nullptr;
    for (Task* each = first_; each != nullptr; before = each, each = each->next) {
      if (each != &task) continue;
      (before == nullptr ? first_ : before->next) = task.next;
      if (last_ == &task) last_ = before;
      return true;
    }
    return false;
  }

 private:
  Task* first_ = nullptr;
  Task* last_ = nullptr;
};

}  // namespace comptroller::db::sqlite
