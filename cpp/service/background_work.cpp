#include "service/background_work.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <exception>

#include "db/signals.hpp"
#include "model/error.hpp"

namespace comptroller::service {

namespace {

using std::chrono::milliseconds;

// After a step that failed, or that a bulk write prevented.
constexpr milliseconds first_pause{100};
constexpr milliseconds max_pause{60'000};
constexpr milliseconds max_pause_of_prevented{1000};

thread_local BackgroundWork* of_this_thread = nullptr;

}  // namespace

bool BackgroundWork::is_this_thread() {
  if (of_this_thread == nullptr) return false;
  const std::lock_guard lock(of_this_thread->mutex_);
  if (of_this_thread->is_stopping_) throw Error(Code::closed, "the service is closed");
  return true;
}

void BackgroundWork::start() {
  const std::lock_guard lock(mutex_);
  is_wanted_ = true;
  if (is_running_ || is_stopping_) return;
  if (thread_.joinable()) thread_.join();  // the thread has left its loop
  try {
    thread_ = std::thread([this] { run(); });
    is_running_ = true;
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the next start tries again
  }
}

void BackgroundWork::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

bool BackgroundWork::has_work() {
  const std::lock_guard lock(mutex_);
  return is_running_ && !has_failed_;
}

void BackgroundWork::run() {
  db::block_signals();
  of_this_thread = this;
  milliseconds pause = first_pause;
  std::unique_lock lock(mutex_);
  while (is_wanted_ && !is_stopping_) {
    is_wanted_ = false;
    lock.unlock();
    const Outcome outcome = try_step();
    lock.lock();
    has_failed_ = outcome == Outcome::failed;
    const bool has_run = outcome == Outcome::done || outcome == Outcome::more;
    if (has_run) pause = first_pause;
    if (outcome == Outcome::done) continue;
    is_wanted_ = true;
    if (outcome == Outcome::prevented) pause = std::min(pause, max_pause_of_prevented);
    changed_.wait_for(lock, has_run ? pause_ : pause, [&] { return is_stopping_; });
    if (!has_run) pause = std::min(pause * 2, max_pause);
  }
  is_running_ = false;
}

BackgroundWork::Outcome BackgroundWork::try_step() {
  try {
    bool is_more = false;
    const bool has_run = database_.write_unless_bulk(
        [&](db::Connection& connection) { is_more = step_(connection); });
    if (!has_run) return Outcome::prevented;
    return is_more ? Outcome::more : Outcome::done;
  } catch (const std::exception&) {
    return Outcome::failed;
  }
}

}  // namespace comptroller::service
