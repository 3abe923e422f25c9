#include <pybind11/stl.h>

#include <memory>
#include <mutex>
#include <string>

#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "sample/generator.hpp"

namespace py = pybind11;

namespace comptroller::bindings {

namespace {

// A generator for several threads. Each call returns the bytes after those of the previous call.
class Sample {
 public:
  explicit Sample(const sample::Options& options) : generator_(options) {}

  py::bytes next(std::size_t size) {
    std::string bytes(size, '\0');
    {
      const GilReleased released;
      const std::lock_guard guard(mutex_);
      bytes.resize(generator_.read(bytes.data(), size));
    }
    return bytes;
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
  freeze(py::class_<Sample>(module, "Sample", py::is_final())
             .def("next", &Sample::next, py::arg("size")));
  module.def("sample", &sample, py::arg("kind"), py::arg("rows"), py::arg("seed"),
             py::arg("customer"));
  module.def("sample_rows", &sample::rows_for, py::arg("kind"), py::arg("claims"));
}

}  // namespace comptroller::bindings
