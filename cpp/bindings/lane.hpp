// The classes DeferredWrites and Lane, as _core.pyi describes them.
#pragma once

#include <pybind11/pybind11.h>

namespace comptroller::bindings {

void bind_lane(pybind11::module_& module);

}  // namespace comptroller::bindings
