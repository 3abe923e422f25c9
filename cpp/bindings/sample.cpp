#include <pybind11/stl.h>

#include <memory>
#include <mutex>

#include "bindings/bindings.hpp"
#include "sample/generator.hpp"

namespace py = pybind11;

namespace comptroller::bindings {

namespace {

// A generator that several threads may read, each getting the bytes that follow the last one's.
class Sample {
 public:
  explicit Sample(const sample::Options& options) : generator_(options) {}

  std::size_t readinto(const py::buffer& buffer) {
    Py_buffer view;
    if (PyObject_GetBuffer(buffer.ptr(), &view, PyBUF_WRITABLE) != 0) {
      PyErr_Clear();
      throw py::type_error("buffer: must be a writable, contiguous bytes-like object");
    }
    const std::unique_ptr<Py_buffer, decltype(&PyBuffer_Release)> held(&view, &PyBuffer_Release);
    const py::gil_scoped_release release;
    const std::lock_guard guard(mutex_);
    return generator_.read(static_cast<char*>(view.buf), static_cast<std::size_t>(view.len));
  }

 private:
  std::mutex mutex_;
  sample::Generator generator_;
};

std::unique_ptr<Sample> sample(std::string kind, std::uint64_t rows, std::uint64_t seed,
                               std::optional<std::string> customer) {
  return std::make_unique<Sample>(
      sample::Options{std::move(kind), rows, seed, std::move(customer).value_or("")});
}

}  // namespace

void bind_sample(py::module_& module) {
  seal(py::class_<Sample>(module, "Sample", py::is_final()).def("readinto", &Sample::readinto));
  module.def("sample", &sample, py::arg("kind"), py::arg("rows"), py::arg("seed"),
             py::arg("customer"));
  module.def("sample_rows", &sample::rows_for, py::arg("kind"), py::arg("claims"));
}

}  // namespace comptroller::bindings
