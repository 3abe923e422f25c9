// Ends waits and statements early.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <utility>

#include "model/error.hpp"

namespace comptroller::db {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

// The interval at which a thread that waits or runs a statement calls Interrupt::check.
inline constexpr std::chrono::milliseconds check_interval{100};

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
  // Throws closed after close(), and the exceptions of the callback.
  void check() const {
    check_open();
    if (callback_) callback_();
  }

 private:
  std::function<void()> callback_;
  std::atomic<bool> is_closed_ = false;
};

}  // namespace comptroller::db
