// How an Error of the core reaches Python: as what comptroller.errors.make makes of it.
#pragma once

#include "model/error.hpp"

namespace comptroller::bindings {

// Sets the Python exception for an Error. With the GIL.
void set_python_error(const Error& error);

// Translates every Error that leaves a binding.
void register_errors();

}  // namespace comptroller::bindings
