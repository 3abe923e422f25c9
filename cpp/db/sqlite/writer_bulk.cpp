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
  truncate_log();
}

void Writer::run_in_copy(PrivateCopy& copy, const std::function<bool(Connection&)>& work) {
  in_bulk_ = std::this_thread::get_id();
  copy.connection().set_interrupt(&interrupt_);
  connection_.set_deadline(Deadline::max());
  const bool keeps = work(copy.connection());
  if (keeps) copy.adopt(connection_, commit_lock_, max_wait_);
  end_bulk();
  if (!keeps) return;
  frames_in_log_ += copy.pages();  // hooks do not count the frames of a backup
  truncate_log();
}

void Writer::truncate_log() noexcept {
  if (frames_in_log_ < frames_to_checkpoint) return;
  // Frames that a reader needs stay in the log, so that no writer waits for the reader.
  connection_.wait_when_busy(false);
  sqlite3_wal_checkpoint_v2(connection_.handle(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr,
                            nullptr);
  connection_.wait_when_busy(true);
}

}  // namespace comptroller::db::sqlite
