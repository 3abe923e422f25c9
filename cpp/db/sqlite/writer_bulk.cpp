// The writer's bulk writes, in the database itself or in a private copy of it.
#include "db/sqlite/private_copy.hpp"
#include "db/sqlite/writer.hpp"

namespace comptroller::db::sqlite {

void Writer::end_bulk() noexcept {
  connection_.set_interrupt(nullptr);
  in_bulk_ = std::thread::id();
}

void Writer::run_bulk(const std::function<bool(Connection&)>& work) {
  in_bulk_ = std::this_thread::get_id();
  connection_.set_deadline(Deadline::max());
  connection_.set_interrupt(&interrupt_);
  const bool keeps = work(connection_);
  end_bulk();
  if (!keeps) return undo();
  commit(Clock::now() + max_wait_);
  if (frames_in_log_ < frames_to_checkpoint) return;
  frames_in_log_ = connection_.truncate_log().value_or(frames_in_log_);
}

void Writer::run_in_copy(PrivateCopy& copy, const std::function<bool(Connection&)>& work) {
  in_bulk_ = std::this_thread::get_id();
  copy.connection().set_interrupt(&interrupt_);
  connection_.set_deadline(Deadline::max());
  const bool keeps = work(copy.connection());
  if (keeps) frames_in_log_ = copy.adopt(connection_, commit_lock_, max_wait_);
  end_bulk();
}

}  // namespace comptroller::db::sqlite
