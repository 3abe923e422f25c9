// A Python object with `readinto` as the input of a load.
#pragma once

#include <pybind11/pybind11.h>

#include <utility>

#include "load/input.hpp"
#include "model/error.hpp"

namespace comptroller::bindings {

// Takes the GIL for each read. What `readinto` raises is thrown as it is.
class PythonInput : public load::Input {
 public:
  PythonInput(pybind11::object source, bool is_for_loading_thread)
      : source_(std::move(source)), is_for_loading_thread_(is_for_loading_thread) {}

  bool is_for_loading_thread() const override { return is_for_loading_thread_; }

  void abandon() noexcept override {
    const pybind11::gil_scoped_acquire acquire;
    if (PyObject* done = PyObject_CallMethod(source_.ptr(), "abandon", nullptr)) {
      Py_DECREF(done);
    } else {
      PyErr_WriteUnraisable(source_.ptr());  // only the wait for it is longer
    }
  }

  std::size_t read(char* out, std::size_t capacity) override {
    const pybind11::gil_scoped_acquire acquire;
    const auto buffer = pybind11::memoryview::from_memory(
        out, static_cast<pybind11::ssize_t>(capacity), /*readonly=*/false);
    const pybind11::object read = source_.attr("readinto")(buffer);
    buffer.attr("release")();
    const auto size = read.is_none() ? 0 : read.cast<pybind11::ssize_t>();
    if (size < 0 || std::cmp_greater(size, capacity)) {
      throw Error(Code::unavailable, "readinto gave a size outside its buffer");
    }
    return static_cast<std::size_t>(size);
  }

 private:
  pybind11::object source_;
  bool is_for_loading_thread_;
};

}  // namespace comptroller::bindings
