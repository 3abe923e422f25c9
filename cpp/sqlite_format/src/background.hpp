#pragma once

#include <future>
#include <system_error>

namespace sqlite_format {

// Runs the work in a thread of its own; the destructor of the future waits for it. If no thread can
// be started, get() runs the work.
template <class Work>
std::future<void> run_in_background(Work work) {
  try {
    return std::async(std::launch::async, work);
  } catch (const std::system_error&) {
    return std::async(std::launch::deferred, work);
  }
}

}  // namespace sqlite_format
