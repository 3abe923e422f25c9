// The global interpreter lock (GIL), for threads that run until the process ends.
//
// While the interpreter exits, CPython before 3.14 ends a thread that takes the GIL by
// pthread_exit. glibc then unwinds the thread's stack: destructors run without the GIL, and a
// noexcept function terminates the process. So each call of Python that may take the GIL or run
// Python code is made through `in_python`, where such a thread stops for ever instead.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <type_traits>

namespace comptroller::bindings {

// Stops the thread until the process ends.
[[noreturn]] void stop_thread();

// Stops the thread if it leaves the scope by unwinding. A destructor, because a catch clause would
// terminate inside a handler of another exception.
class StopUnwinding {
 public:
  StopUnwinding() = default;
  ~StopUnwinding() {
    if (!has_returned) stop_thread();
  }
  StopUnwinding(const StopUnwinding&) = delete;
  StopUnwinding& operator=(const StopUnwinding&) = delete;

  bool has_returned = false;
};

// Calls functions of Python's C API, which throw no exception. `call` must have no local object
// with a destructor: if the thread stops, it does not return.
template <class Call>
auto in_python(const Call& call) {
  StopUnwinding guard;
  if constexpr (std::is_void_v<decltype(call())>) {
    call();
    guard.has_returned = true;
  } else {
    const auto result = call();
    guard.has_returned = true;
    return result;
  }
}

// The number of open services and of threads inside the core. While it is not 0, threads of the
// core may run.
inline std::atomic<int> core_users = 0;

// Releases the GIL, which the thread holds, for a scope.
class GilReleased {
 public:
  GilReleased() : state_(PyEval_SaveThread()) { ++core_users; }
  ~GilReleased() {
    in_python([this] { PyEval_RestoreThread(state_); });
    --core_users;
  }
  GilReleased(const GilReleased&) = delete;
  GilReleased& operator=(const GilReleased&) = delete;

 private:
  PyThreadState* state_;
};

// Holds the GIL for a scope, in any thread at any time. Stops a thread whose interpreter has ended.
class GilHeld {
 public:
  GilHeld();
  ~GilHeld() {
    in_python([this] { PyGILState_Release(state_); });
  }
  GilHeld(const GilHeld&) = delete;
  GilHeld& operator=(const GilHeld&) = delete;

 private:
  PyGILState_STATE state_;
};

// Whether the thread holds the GIL. May be called in any thread at any time.
bool holds_gil();

// Prepares for the end of the interpreter that imports the module.
void watch_interpreter(pybind11::module_& module);

// Calls a Python object. The caller holds the GIL. Throws error_already_set if it raises.
template <class... Arguments>
pybind11::object call_python(const pybind11::handle& function, const Arguments&... arguments) {
  const pybind11::tuple given = pybind11::make_tuple(arguments...);
  PyObject* const result =
      in_python([&] { return PyObject_CallObject(function.ptr(), given.ptr()); });
  if (result == nullptr) throw pybind11::error_already_set();
  return pybind11::reinterpret_steal<pybind11::object>(result);
}

// Returns an attribute. The caller holds the GIL. Throws error_already_set if Python raises.
inline pybind11::object get_attribute(const pybind11::handle& of, const char* name) {
  PyObject* const found = in_python([&] { return PyObject_GetAttrString(of.ptr(), name); });
  if (found == nullptr) throw pybind11::error_already_set();
  return pybind11::reinterpret_steal<pybind11::object>(found);
}

}  // namespace comptroller::bindings
