// comptroller._core: the contents of the extension module (_core.pyi).
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "bindings/errors.hpp"
#include "bindings/store.hpp"
#include "model/timestamp.hpp"
#include "sample/generator.hpp"
#include "service/describe.hpp"

namespace py = pybind11;
using namespace comptroller;  // NOLINT(google-build-using-namespace): this file lists the namespace

namespace {

void bind_sample(py::module_& module) {
  py::class_<sample::Generator>(module, "Sample")
      .def("readinto", [](sample::Generator& generator, const py::buffer& buffer) {
        const py::buffer_info info = buffer.request(/*writable=*/true);
        const auto capacity = static_cast<std::size_t>(info.size * info.itemsize);
        const py::gil_scoped_release release;
        return generator.read(static_cast<char*>(info.ptr), capacity);
      });
  module.def(
      "sample",
      [](std::string kind, std::uint64_t rows, std::uint64_t seed,
         std::optional<std::string> customer) {
        return sample::Generator({std::move(kind), rows, seed, std::move(customer).value_or("")});
      },
      py::arg("kind"), py::arg("rows"), py::arg("seed"), py::arg("customer"));
  module.def("sample_rows", &sample::rows_for, py::arg("kind"), py::arg("claims"));
}

}  // namespace

PYBIND11_MODULE(_core, module, py::mod_gil_not_used()) {
  bindings::register_errors();
  bindings::bind_store(module);
  bind_sample(module);
  module.def(
      "microseconds",
      [](std::string_view text) -> std::optional<std::int64_t> {
        const auto moment = Timestamp::parse(text);
        return moment ? std::optional(moment->microseconds) : std::nullopt;
      },
      py::arg("text"), "Of an RFC 3339 time, since 1970; None for what is none.");
  module.def("describe", [] { return py::bytes(service::describe()); });
}
