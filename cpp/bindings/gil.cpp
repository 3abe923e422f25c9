#include "bindings/gil.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace py = pybind11;

namespace comptroller::bindings {

namespace {

// While the interpreter ends, it frees what PyGILState_* use. Before that the ending thread sets
// `ending` and waits until no other thread is in these functions.
std::atomic<std::thread::id> ending;
std::atomic<int> visitors = 0;
thread_local bool is_visitor = false;

constexpr int max_waits = 1000;
constexpr std::chrono::milliseconds between_waits{1};

// Returns whether the thread may use its thread state; then leave() must follow.
bool enter() {
  is_visitor = true;
  ++visitors;
  const std::thread::id by = ending;
  return by == std::thread::id() || by == std::this_thread::get_id();
}

void leave() {
  if (!is_visitor) return;
  is_visitor = false;
  --visitors;
}

bool is_python_ending() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

void end_visits() {
  if (!is_python_ending()) return;  // the module is removed from a running interpreter
  ending = std::this_thread::get_id();
  // A visitor that waits for the GIL gets it and stops. From 3.14 it waits for ever, and is safe.
  const GilReleased released;
  for (int wait = 0; visitors > 0 && wait < max_waits && PY_VERSION_HEX < 0x030E0000; ++wait) {
    std::this_thread::sleep_for(between_waits);
  }
}

#ifdef __GLIBC__
void end_process(int code, void*) {
  if (core_users == 0) return;
  std::fflush(nullptr);
  ::_exit(code);
}

// Called when Python has ended, before the system ends the process by `exit`, which destroys the
// static objects of all libraries. Threads of the core may still use them.
void before_exit() {
  ::on_exit(&end_process, nullptr);  // called before all functions that were registered earlier
}
#endif

}  // namespace

void stop_thread() {
  leave();
  while (true) ::pause();
}

GilHeld::GilHeld() {
  if (!enter()) stop_thread();
  state_ = in_python([] { return PyGILState_Ensure(); });
  leave();
}

bool holds_gil() {
  const bool holds = enter() && PyGILState_Check() != 0;
  leave();
  return holds;
}

void watch_interpreter(py::module_& module) {
  // Python clears its modules while it ends.
  module.attr("_until_the_end") = py::capsule(&end_visits);
#ifdef __GLIBC__
  Py_AtExit(&before_exit);  // may fail if the program has 32 such functions
#endif
}

}  // namespace comptroller::bindings
