// comptroller._core: the contents of the extension module (_core.pyi).
#include <pybind11/stl.h>

#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "model/timestamp.hpp"
#include "service/describe.hpp"

namespace py = pybind11;
using namespace comptroller;  // NOLINT(google-build-using-namespace): this file lists the namespace

PYBIND11_MODULE(_core, module, py::mod_gil_not_used()) {
  bindings::watch_interpreter(module);
  bindings::register_errors();
  bindings::bind_store(module);
  bindings::bind_lane(module);
  bindings::bind_sample(module);
  bindings::bind_text(module);
  bindings::bind_ending(module);
  module.def(
      "microseconds",
      [](const std::string& text) -> std::optional<std::int64_t> {
        const auto time = Timestamp::parse(text);
        return time ? std::optional(time->microseconds) : std::nullopt;
      },
      py::arg("text"), "Microseconds since 1970 of an RFC 3339 time; None for other text.");
  module.def("describe", [] { return py::bytes(service::describe()); });
}
