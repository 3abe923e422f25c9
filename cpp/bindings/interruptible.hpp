// Calls of the core that Python's signal handlers can end.
#pragma once

#include "bindings/gil.hpp"

namespace comptroller::bindings {

inline thread_local bool may_handle_signals = false;

// Releases the GIL for a call of the core. A Python signal handler that raises interrupts the call.
// Other threads of the core, such as those of a stream, never wait for the GIL, because the thread
// that holds it may be waiting for them.
class InterruptibleCall {
 public:
  InterruptibleCall() { may_handle_signals = true; }
  ~InterruptibleCall() { may_handle_signals = was_; }
  InterruptibleCall(const InterruptibleCall&) = delete;
  InterruptibleCall& operator=(const InterruptibleCall&) = delete;

 private:
  bool was_ = may_handle_signals;
  GilReleased released_;
};

// Runs `call` as an interruptible call and returns its result.
template <class Call>
auto interruptibly(const Call& call) {
  const InterruptibleCall interruptible;
  return call();
}

}  // namespace comptroller::bindings
