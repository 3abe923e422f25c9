// Ends waits and statements early.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <stop_token>
#include <utility>

#include "model/error.hpp"

namespace comptroller::db {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

// The interval at which a thread that waits or runs a statement calls Interrupt::check.
inline constexpr std::chrono::milliseconds check_interval{100};

// Until the end of its scope, the work of this thread ends when `stop` is requested:
// Interrupt::check then throws closed. For a thread that works for another one, which gets the
// signals.
class StopScope {
 public:
  explicit StopScope(std::stop_token stop)
      : stop_(std::move(stop)), before_(std::exchange(of_this_thread, &stop_)) {}
  ~StopScope() { of_this_thread = before_; }
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

  static bool is_stopped() { return of_this_thread != nullptr && of_this_thread->stop_requested(); }

 private:
  static inline thread_local const std::stop_token* of_this_thread = nullptr;

  std::stop_token stop_;
  const std::stop_token* before_;
};

// Shared by all connections and locks of a database. Safe for many threads.
class Interrupt {
 public:
  // `callback` may throw; see OpenOptions::check_interrupt.
  explicit Interrupt(std::function<void()> callback) : callback_(std::move(callback)) {}

  void close() { is_closed_ = true; }
  // Throws closed after close().
  void check_open() const {
    if (is_closed_) throw Error(Code::closed, "the service is closed");
  }
  // Throws closed after close() and in a stopped StopScope, and the exceptions of the callback.
  void check() const {
    check_open();
    if (StopScope::is_stopped()) throw Error(Code::closed, "the caller has stopped this work");
    if (callback_) callback_();
  }

 private:
  std::function<void()> callback_;
  std::atomic<bool> is_closed_ = false;
};

}  // namespace comptroller::db
