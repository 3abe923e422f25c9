// The writer's bulk writes, in the database itself or in a private copy of it.
#include <memory>
#include <optional>
#include <utility>

#include "db/sqlite/private_copy.hpp"
#include "db/sqlite/writer.hpp"

namespace comptroller::db::sqlite {

Lease Writer::prepare(const Filling& filling) {
  if (!PrivateCopy::suits(filling)) return {};
  Writing::refuse(*this);
  auto writing = std::make_shared<const Writing>(*this, true);
  std::shared_ptr<PrivateCopy> copy;
  run_alone(max_wait(filling), [&] { copy = PrivateCopy::make(connection_, filling); });
  if (!copy) return {};
  SqliteConnection& connection = copy->connection();
  connection.set_interrupt(&interrupt_);
  return {&connection, [copy = std::move(copy), writing = std::move(writing)](Connection*) mutable {
            copy.reset();
            writing.reset();
          }};
}

std::chrono::milliseconds Writer::max_wait(const Filling& filling) const {
  constexpr int waits_of_patient = 10;
  return filling.is_patient ? waits_of_patient * max_wait_ : max_wait_;
}

void Writer::write_bulk(const std::function<bool(Connection&)>& work, const Filling& filling) {
  auto* const prepared = static_cast<SqliteConnection*>(filling.prepared);
  if (prepared == nullptr) Writing::refuse(*this);
  const Writing writing(*this, true);
  run_alone(max_wait(filling), [&] {
    std::unique_ptr<PrivateCopy> made;
    PrivateCopy* copy = prepared == nullptr ? nullptr : prepared->private_copy();
    if (copy == nullptr || !copy->is_current()) {
      made = PrivateCopy::make(connection_, filling);
      copy = made.get();
    }
    if (copy != nullptr) return run_in_copy(*copy, work);
    begin();
    run_bulk(work);
  });
}

// Runs `work` while no other thread or process writes.
void Writer::run_alone(std::chrono::milliseconds max_wait, const std::function<void()>& work) {
  Task task;
  wait_for_turn(task, max_wait);
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

void Writer::run_bulk(const std::function<bool(Connection&)>& work) {
  const bool keeps = work(connection_);
  connection_.set_interrupt(nullptr);
  if (!keeps) return undo();
  commit(Clock::now() + max_wait_);
  if (!is_checkpoint_due()) return;
  frames_in_log_ = connection_.truncate_log().value_or(frames_in_log_);
  plan_next_checkpoint();
}

void Writer::run_in_copy(PrivateCopy& copy, const std::function<bool(Connection&)>& work) {
  copy.connection().set_interrupt(&interrupt_);
  const bool keeps = work(copy.connection());
  if (!keeps) return;
  frames_in_log_ = copy.adopt(connection_, file_, commit_lock_, max_wait_);
  plan_next_checkpoint();
}

}  // namespace comptroller::db::sqlite
