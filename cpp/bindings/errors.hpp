// How an Error of the core reaches Python: as what comptroller.errors.make makes of it.
#pragma once

namespace comptroller::bindings {

// Translates every Error that leaves a binding.
void register_errors();

}  // namespace comptroller::bindings
