// Runs work in many threads at once.
#pragma once

#include <latch>
#include <thread>
#include <vector>

namespace comptroller {

// Runs `work(thread)` in `count` threads that start together; returns when all have ended.
template <class Work>
void in_threads(int count, const Work& work) {
  std::latch together(count);
  std::vector<std::jthread> running;
  for (int thread = 0; thread < count; ++thread) {
    running.emplace_back([&, thread] {
      together.arrive_and_wait();
      work(thread);
    });
  }
}

}  // namespace comptroller
