// How an Error of the core reaches Python: as what comptroller.errors.make makes of it.
#pragma once

#include <pybind11/pybind11.h>

#include <exception>

namespace comptroller::bindings {

// Translates every Error that leaves a binding.
void register_errors();

// The Python exception for an exception of the core. With the GIL.
pybind11::object to_python_error(const std::exception_ptr& thrown);

}  // namespace comptroller::bindings
