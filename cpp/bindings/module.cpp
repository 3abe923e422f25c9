// comptroller._core: the contents of the extension module (_core.pyi).
#include <pybind11/stl.h>

#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "model/error.hpp"
#include "model/timestamp.hpp"
#include "service/describe.hpp"

namespace py = pybind11;
using namespace comptroller;  // NOLINT(google-build-using-namespace): this file lists the namespace

namespace {

constexpr const char* refusal =
    "comptroller cannot be imported in a sub-interpreter; import it in the main interpreter, or in "
    "a process of its own";

bool is_main_interpreter() {
  return PyInterpreterState_Get() == PyInterpreterState_Main();
}

}  // namespace

PYBIND11_MODULE(_core_of_main, module, py::multiple_interpreters::not_supported()) {
  if (!is_main_interpreter()) throw py::import_error(refusal);
  bindings::watch_interpreter(module);
  bindings::register_errors();
  bindings::bind_store(module);
  bindings::bind_fields(module);
  bindings::bind_responder(module);
  bindings::bind_journal(module);
  bindings::bind_webhooks(module);
  bindings::bind_sample(module);
  bindings::bind_text(module);
  bindings::bind_documents(module);
  bindings::bind_allocator(module);
  bindings::bind_ending(module);
  module.def(
      "microseconds",
      [](const std::string& text) -> std::optional<std::int64_t> {
        const auto time = Timestamp::parse(text);
        return time ? std::optional(time->microseconds) : std::nullopt;
      },
      py::arg("text"), "Microseconds since 1970 of an RFC 3339 time; None for other text.");
  module.def(
      "is_temporary", [](int reason) { return Error::code_of_system(reason) == Code::unavailable; },
      py::arg("errno"));
  module.def("describe", [] { return py::bytes(service::describe()); });
}

// Before Python 3.13 this is called in the sub-interpreter, where pybind11 would wait for ever with
// Python 3.11.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): Python's name
extern "C" PYBIND11_EXPORT PyObject* PyInit__core() {
  if (is_main_interpreter()) return PyInit__core_of_main();
  PyErr_SetString(PyExc_ImportError, refusal);
  return nullptr;
}
