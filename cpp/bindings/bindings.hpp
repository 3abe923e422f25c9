// The parts of the extension module; _core.pyi describes them.
#pragma once

#include <pybind11/pybind11.h>

#include <exception>
#include <memory>
#include <span>

namespace comptroller::bindings {

// Translates every Error of the core that leaves a binding to the exception that
// comptroller.errors.make returns for it.
void register_errors();
// Returns the Python exception for an exception of the core. The caller holds the GIL.
pybind11::object to_python_error(const std::exception_ptr& thrown);
// The class Store: a service on one file.
void bind_store(pybind11::module_& module);
// The classes DeferredWrites and Lane: the fast path of HTTP requests.
void bind_lane(pybind11::module_& module);
// The classes TextRows and TextPiece: an Arrow stream as CSV or JSON text.
void bind_text(pybind11::module_& module);
// The class Sample: generated records as a file.
void bind_sample(pybind11::module_& module);

// Does the same as pybind11's own tp_new. Because it is another function, Python rejects a direct
// call of `__new__`, whose object would be uninitialised; only a call of the class makes objects.
inline PyObject* make_instance(PyTypeObject* type, PyObject*, PyObject*) {
  return pybind11::detail::make_new_instance(type);
}

// Seals a class: it can no longer be changed, and __class__ of another object cannot be set to it.
template <class... Definition>
void seal(const pybind11::class_<Definition...>& defined) {
  auto* type = reinterpret_cast<PyTypeObject*>(defined.ptr());
  type->tp_new = make_instance;
  type->tp_flags |= Py_TPFLAGS_IMMUTABLETYPE;
  PyType_Modified(type);
}

// The bytes of a Python buffer, which keep their address while this object exists. The GIL must be
// held to create and destroy it. Throws TypeError unless the buffer is writable and contiguous.
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
