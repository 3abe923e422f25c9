#include "db/sqlite/task_queue.hpp"

namespace comptroller::db::sqlite {

void TaskQueue::push(Task& task) {
  task.next = nullptr;
  (first_ == nullptr ? first_ : last_->next) = &task;
  last_ = &task;
}

Task& TaskQueue::pop() {
  Task& task = *first_;
  first_ = task.next;
  return task;
}

bool TaskQueue::remove(const Task& task) {
  Task* before = nullptr;
  for (Task* each = first_; each != nullptr; before = each, each = each->next) {
    if (each != &task) continue;
    (before == nullptr ? first_ : before->next) = task.next;
    if (last_ == &task) last_ = before;
    return true;
  }
  return false;
}

}  // namespace comptroller::db::sqlite
