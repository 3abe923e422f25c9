// A Python object with `readinto`, and perhaps `rewind`, as the input of a load.
#pragma once

#include <pybind11/pybind11.h>

#include <cstring>
#include <exception>
#include <utility>

#include "bindings/gil.hpp"
#include "load/input.hpp"
#include "model/error.hpp"
#include "model/wording.hpp"

namespace comptroller::bindings {

// Takes the GIL for each read. An exception of `readinto` is thrown unchanged. The GIL must be held
// to create and destroy it.
class PythonInput : public load::Input {
 public:
  PythonInput(pybind11::object source, bool is_for_loading_thread)
      : source_(std::move(source)),
        is_for_loading_thread_(is_for_loading_thread),
        can_rewind_(pybind11::hasattr(source_, "rewind")) {}

  bool is_for_loading_thread() const override { return is_for_loading_thread_; }

  void abandon() noexcept override {
    const GilHeld held;
    try {
      call_python(get_attribute(source_, "abandon"));
    } catch (pybind11::error_already_set& error) {
      error.discard_as_unraisable(source_);  // the read is then not ended early
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): of pybind11, without memory
    }
  }

  bool can_rewind() const override { return can_rewind_; }
  void rewind() override {
    const GilHeld held;
    call_python(get_attribute(source_, "rewind"));
  }

  std::size_t read(char* out, std::size_t capacity) override {
    const GilHeld held;
    const auto accepted = static_cast<pybind11::ssize_t>(capacity);
    if (memory_.size < accepted) {
      bytes_ = pybind11::bytearray(nullptr, accepted);
      memory_ = bytes_.request(/*writable=*/true);
    }
    const pybind11::object view =
        pybind11::memoryview(bytes_)[pybind11::slice(0, accepted, std::nullopt)];
    const pybind11::object answer = call_python(get_attribute(source_, "readinto"), view);
    const auto size =
        answer.is_none() ? 0 : in_python([&] { return PyNumber_AsSsize_t(answer.ptr(), nullptr); });
    if (PyErr_Occurred() != nullptr || size < 0 || size > accepted) {
      PyErr_Clear();
      throw Error::invalid("source", "readinto returned " +
                                         shorten(std::string(pybind11::repr(answer))) +
                                         "; an integer from 0 to the buffer's size is accepted");
    }
    std::memcpy(out, memory_.ptr, static_cast<std::size_t>(size));
    return static_cast<std::size_t>(size);
  }

 private:
  pybind11::object source_;
  bool is_for_loading_thread_;
  bool can_rewind_;
  // `readinto` may keep a view of the memory that it fills, so the memory belongs to Python. The
  // buffer export held in `memory_` prevents a resize.
  pybind11::buffer bytes_;
  pybind11::buffer_info memory_;
};

}  // namespace comptroller::bindings
