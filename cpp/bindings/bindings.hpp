// The parts of the extension module; _core.pyi describes them.
#pragma once

#include <pybind11/pybind11.h>

#include <exception>

namespace comptroller::bindings {

// Translates every Error of the core that leaves a binding to the exception that
// comptroller.errors.error_for returns for it.
void register_errors();
// Returns the Python exception for an exception of the core. The caller holds the GIL.
pybind11::object to_python_error(const std::exception_ptr& thrown);
// The class Store: a service on one file.
void bind_store(pybind11::module_& module);
// The class Fields, and the function that collects the headers of a request.
void bind_fields(pybind11::module_& module);
// The classes DeferredWrites and Responder: operations over HTTP.
void bind_responder(pybind11::module_& module);
// The functions of the journal: entries, proofs, checkpoints.
void bind_journal(pybind11::module_& module);
// The delivery of the events of webhooks.
void bind_webhooks(pybind11::module_& module);
// The classes TextRows and TextPiece: an Arrow stream as text.
void bind_text(pybind11::module_& module);
// The class Documents: the records of a JSON file; and the rule for formulas in cells.
void bind_documents(pybind11::module_& module);
// The limit of the free memory that a server's process keeps.
void bind_allocator(pybind11::module_& module);
// The end of a server's process after a signal, or with its supervisor.
void bind_ending(pybind11::module_& module);
// The class Sample: generated records as a file.
void bind_sample(pybind11::module_& module);

// Does the same as pybind11's own tp_new. Because it is another function, Python rejects a direct
// call of `__new__`, whose object would be uninitialised; only a call of the class makes objects.
inline PyObject* make_instance(PyTypeObject* type, PyObject*, PyObject*) {
  return pybind11::detail::make_new_instance(type);
}

// Freezes a class: it can no longer be changed, and __class__ of another object cannot be set to
// it.
template <class... Definition>
void freeze(const pybind11::class_<Definition...>& defined) {
  auto* type = reinterpret_cast<PyTypeObject*>(defined.ptr());
  type->tp_new = make_instance;
  type->tp_flags |= Py_TPFLAGS_IMMUTABLETYPE;
  PyType_Modified(type);
}

}  // namespace comptroller::bindings
