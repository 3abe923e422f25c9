#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "db/database.hpp"

namespace comptroller::service {

// Runs bounded writes that a request left for later, one after another on a thread of its own. The
// thread exists only while there is something to do. A write that fails is tried again after a
// pause. Safe for many threads.
class BackgroundWork {
 public:
  // One bounded write; gives whether more is left.
  using Step = std::function<bool(db::Connection&)>;

  // The database must outlive this object.
  BackgroundWork(db::Database& database, Step step) : database_(database), step_(std::move(step)) {}
  ~BackgroundWork() { stop(); }
  BackgroundWork(const BackgroundWork&) = delete;
  BackgroundWork& operator=(const BackgroundWork&) = delete;

  // Runs steps until one leaves nothing. May be called in the write that leaves the work: the first
  // step comes after it. Does nothing once stopped.
  void start();
  // Returns after the present step; what is left is for the next opening of the store.
  void stop();

  // For a callback that is called while a write waits: whether it is called by the thread of a
  // BackgroundWork, which may not run Python code. Throws unavailable if that is to stop.
  static bool is_this_thread();

 private:
  void run();
  // Whether more is left; nothing if the step failed.
  std::optional<bool> try_step();

  db::Database& database_;
  Step step_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;
  bool is_wanted_ = false;
  bool is_running_ = false;
  bool is_stopping_ = false;
};

}  // namespace comptroller::service
