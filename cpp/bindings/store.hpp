// The class Store: a service on one file, as _core.pyi describes it.
#pragma once

#include <pybind11/pybind11.h>

namespace comptroller::bindings {

void bind_store(pybind11::module_& module);

}  // namespace comptroller::bindings
