#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <utility>

#include "files/background.hpp"

namespace comptroller::db::sqlite {

// Work in a thread of its own, which is stopped if the caller's part fails. For one thread.
class ParallelTask {
 public:
  // `stop` makes the work end soon. It is called repeatedly, because it may have no effect before
  // the work begins.
  ParallelTask(const std::function<void()>& work, std::function<void()> stop)
      : stop_(std::move(stop)), done_(files::run_in_background(work)) {}
  ~ParallelTask() {
    constexpr std::chrono::milliseconds pause{1};
    while (done_.valid() && done_.wait_for(pause) == std::future_status::timeout) stop_();
  }

  // Returns when the work has ended, or throws its exception. Meanwhile it calls `check`, which may
  // throw, at once and after each pause.
  void wait(std::chrono::milliseconds pause, const std::function<void()>& check) {
    for (std::chrono::milliseconds next{0}; done_.wait_for(next) == std::future_status::timeout;
         next = pause) {
      check();
    }
    done_.get();
  }

 private:
  std::function<void()> stop_;
  std::future<void> done_;
};

}  // namespace comptroller::db::sqlite
