// The class Sample: generated records as a file, as _core.pyi describes it.
#pragma once

#include <pybind11/pybind11.h>

namespace comptroller::bindings {

void bind_sample(pybind11::module_& module);

}  // namespace comptroller::bindings
