#include "http/fields.hpp"

#include <exception>
#include <memory>
#include <new>
#include <utility>

#include "bindings/bindings.hpp"

namespace py = pybind11;

namespace comptroller::bindings {

namespace {

using http::Fields;
using http::Header;

Fields& collected_by(PyObject* capsule) {
  return *static_cast<Fields*>(PyCapsule_GetPointer(capsule, nullptr));
}

std::string_view view(PyObject* bytes) {
  return {PyBytes_AS_STRING(bytes), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes))};
}

// Functions of Python's C API: pybind11 would cost several times as much as the work for a field.
PyObject* add(PyObject* capsule, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 2 || !PyBytes_Check(arguments[0]) || !PyBytes_Check(arguments[1])) {
    PyErr_SetString(PyExc_TypeError, "name, value: must be bytes");
    return nullptr;
  }
  try {
    collected_by(capsule).add(view(arguments[0]), view(arguments[1]));
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
  Py_RETURN_NONE;
}

bool describes_body(const Header& header) {
  return header.name == "content-length" || header.name == "transfer-encoding" ||
         header.name == "expect";
}

// Proxy-Connection has the same effect on llhttp.
bool is_connection(const Header& header) {
  return header.name == "connection" || header.name == "proxy-connection";
}

py::tuple summarize(Fields fields) {
  const auto count = fields.headers.size();
  const auto bytes = fields.bytes;
  bool has_body = false;
  bool has_connection = false;
  py::list hosts;
  for (const Header& each : fields.headers) {
    if (each.name == "host") hosts.append(py::bytes(each.value));
    has_body |= describes_body(each);
    has_connection |= is_connection(each);
  }
  return py::make_tuple(std::make_unique<Fields>(std::move(fields)), count, bytes, hosts, has_body,
                        has_connection);
}

PyObject* take(PyObject* capsule, PyObject*) {
  try {
    return summarize(std::exchange(collected_by(capsule), {})).release().ptr();
  } catch (py::error_already_set& error) {
    error.restore();
    return nullptr;
  } catch (const std::exception&) {  // also those of pybind11 for objects that cannot be made
    return PyErr_NoMemory();
  }
}

PyObject* find_head_end(PyObject*, PyObject* data) {
  constexpr std::string_view end = "\r\n\r\n";
  if (!PyBytes_Check(data)) {
    PyErr_SetString(PyExc_TypeError, "data: must be bytes");
    return nullptr;
  }
  const std::size_t found = view(data).find(end);
  return PyLong_FromSsize_t(
      found == std::string_view::npos ? -1 : static_cast<Py_ssize_t>(found + end.size()));
}

PyMethodDef add_definition{"add", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(add)),
                           METH_FASTCALL, nullptr};
PyMethodDef take_definition{"take", take, METH_NOARGS, nullptr};
PyMethodDef find_definition{"find_head_end", find_head_end, METH_O,
                            "find_head_end(data: bytes) -> int\n"};

py::object make_function(PyMethodDef& definition, const py::handle& self) {
  PyObject* const function = PyCFunction_New(&definition, self.ptr());
  if (function == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(function);
}

py::tuple collect_fields() {
  const py::capsule capsule(std::make_unique<Fields>().release(),
                            [](void* owned) { delete static_cast<Fields*>(owned); });
  return py::make_tuple(make_function(add_definition, capsule),
                        make_function(take_definition, capsule));
}

py::list headers_of(const Fields& fields) {
  py::list all;
  for (const Header& each : fields.headers) {
    all.append(py::make_tuple(py::bytes(each.name), py::bytes(each.value)));
  }
  return all;
}

}  // namespace

void bind_fields(py::module_& module) {
  freeze(py::class_<Fields>(module, "Fields", py::is_final()).def("headers", &headers_of));
  module.def("collect_fields", &collect_fields);
  module.add_object("find_head_end", make_function(find_definition, py::handle()));
}

}  // namespace comptroller::bindings
