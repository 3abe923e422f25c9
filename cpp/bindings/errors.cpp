#include <pybind11/stl.h>

#include <exception>
#include <system_error>
#include <utility>

#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "model/error.hpp"

namespace py = pybind11;

namespace comptroller::bindings {

namespace {

py::object make_python_error(const Error& error) {
  py::list fields;
  for (const FieldError& field : error.errors()) {
    fields.append(py::make_tuple(field.field, field.message));
  }
  const Problem& described = problem(error.code());
  const py::object existing = error.existing().empty() ? py::none() : py::cast(error.existing());
  PyObject* const errors = in_python([] { return PyImport_ImportModule("comptroller.errors"); });
  if (errors == nullptr) throw py::error_already_set();
  return call_python(get_attribute(py::reinterpret_steal<py::object>(errors), "error_for"),
                     described.code, described.status, error.detail(), fields, existing);
}

}  // namespace

py::object to_python_error(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    return make_python_error(error);
  } catch (const std::system_error& error) {  // thrown by std::filesystem
    return make_python_error(Error(Error::code_of_system(error.code().value()), error.what()));
  } catch (const std::bad_alloc&) {
    return make_python_error(Error(Code::unavailable, "out of memory"));
  }
}

void register_errors() {
  // pybind11 translates all other exceptions.
  py::register_local_exception_translator(
      [](std::exception_ptr thrown) {  // NOLINT(performance-unnecessary-value-param)
        try {
          const py::object raised = to_python_error(thrown);
          PyErr_SetObject(py::type::of(raised).ptr(), raised.ptr());
        } catch (py::error_already_set& raised) {  // by a signal handler, for example
          raised.restore();
        }
      });
}

}  // namespace comptroller::bindings
