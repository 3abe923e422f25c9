// The parts of the extension module, as _core.pyi describes them.
#pragma once

#include <pybind11/pybind11.h>

#include <exception>
#include <memory>
#include <span>

namespace comptroller::bindings {

// Translates every Error of the core that leaves a binding: Python gets what
// comptroller.errors.make makes of it.
void register_errors();
// The Python exception for an exception of the core. With the GIL.
pybind11::object to_python_error(const std::exception_ptr& thrown);
// The class Store: a service on one file.
void bind_store(pybind11::module_& module);
// The classes DeferredWrites and Lane: the short way of requests over HTTP.
void bind_lane(pybind11::module_& module);
// The classes TextRows and TextPiece: an Arrow stream as CSV or JSON text.
void bind_text(pybind11::module_& module);
// The class Sample: generated records as a file.
void bind_sample(pybind11::module_& module);

// What pybind11's own tp_new does. As it is another function, Python refuses `__new__` (whose
// object would have uninitialised content) and makes objects by a call of the class alone.
inline PyObject* make_instance(PyTypeObject* type, PyObject*, PyObject*) {
  return pybind11::detail::make_new_instance(type);
}

// Ends the definition of a class: from now on it cannot be changed, and no object of another class
// can become one of it.
template <class... Definition>
void seal(const pybind11::class_<Definition...>& defined) {
  auto* type = reinterpret_cast<PyTypeObject*>(defined.ptr());
  type->tp_new = make_instance;
  type->tp_flags |= Py_TPFLAGS_IMMUTABLETYPE;
  PyType_Modified(type);
}

// The bytes of a buffer of Python, which stay where they are while this lives; made and destroyed
// with the GIL. Throws TypeError unless they are writable and contiguous.
class WritableBytes {
 public:
  explicit WritableBytes(const pybind11::buffer& buffer) {
    if (PyObject_GetBuffer(buffer.ptr(), &view_, PyBUF_WRITABLE) != 0) {
      PyErr_Clear();
      throw pybind11::type_error("buffer: must be a writable, contiguous bytes-like object");
    }
    held_.reset(&view_);
  }

  std::span<char> span() const {
    return {static_cast<char*>(view_.buf), static_cast<std::size_t>(view_.len)};
  }

 private:
  Py_buffer view_{};
  std::unique_ptr<Py_buffer, decltype(&PyBuffer_Release)> held_{nullptr, &PyBuffer_Release};
};

}  // namespace comptroller::bindings
