#include <pybind11/stl.h>

#include <exception>
#include <system_error>
#include <utility>

#include "bindings/bindings.hpp"
#include "model/error.hpp"

namespace py = pybind11;

namespace comptroller::bindings {

namespace {

// Sets the Python exception for an Error. With the GIL.
void set_python_error(const Error& error) {
  py::list fields;
  for (const FieldError& field : error.errors()) {
    fields.append(py::make_tuple(field.field, field.message));
  }
  const Problem& described = problem(error.code());
  const py::object existing = error.existing().empty() ? py::none() : py::cast(error.existing());
  const py::object raised =
      py::module_::import("comptroller.errors")
          .attr("make")(described.code, described.status, error.detail(), fields, existing);
  PyErr_SetObject(py::type::of(raised).ptr(), raised.ptr());
}

}  // namespace

void register_errors() {
  py::register_local_exception_translator([](std::exception_ptr thrown) {
    try {
      std::rethrow_exception(std::move(thrown));
    } catch (const Error& error) {
      set_python_error(error);
    } catch (const std::system_error& error) {  // what a file system refuses
      set_python_error(Error(Code::unavailable, error.what()));
    } catch (const std::bad_alloc&) {
      set_python_error(Error(Code::unavailable, "out of memory"));
    }
  });
}

}  // namespace comptroller::bindings
