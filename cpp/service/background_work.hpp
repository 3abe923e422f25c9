#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "db/database.hpp"

namespace comptroller::service {

// Runs bounded writes that requests deferred, one after another, on a thread of its own. The thread
// exists only while there is work. A write that failed, or that a bulk write prevented, runs again
// after a pause. Safe for many threads.
class BackgroundWork {
 public:
  // One bounded write; returns whether more work remains.
  using Step = std::function<bool(db::Connection&)>;

  // The database must outlive this object. After a step that leaves work, the thread pauses, so
  // that other writers take their turn.
  BackgroundWork(db::Database& database, Step step,
                 std::chrono::milliseconds pause = std::chrono::milliseconds(5))
      : database_(database), step_(std::move(step)), pause_(pause) {}
  ~BackgroundWork() { stop(); }
  BackgroundWork(const BackgroundWork&) = delete;
  BackgroundWork& operator=(const BackgroundWork&) = delete;

  // Runs steps until no work remains. May be called inside a write transaction: the first step then
  // runs after its commit. Does nothing after stop().
  void start();
  // Returns after the current step. The next opening of the store resumes the remaining work.
  void stop();
  // Whether steps remain, and the last one did not fail.
  bool has_work();

  // Whether the calling thread is the thread of a BackgroundWork. Interrupt callbacks use this,
  // because that thread must not run Python code. Throws closed if the thread is to stop.
  static bool is_this_thread();

 private:
  enum class Outcome : std::uint8_t { done, more, prevented, failed };

  void run();
  Outcome try_step();

  db::Database& database_;
  Step step_;
  std::chrono::milliseconds pause_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;
  bool is_wanted_ = false;
  bool is_running_ = false;
  bool is_stopping_ = false;
  bool has_failed_ = false;  // the last step
};

}  // namespace comptroller::service
