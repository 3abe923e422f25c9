// Counts how often the test program waits for the disk. synchronisations.cpp replaces the functions
// of the system for this.
#pragma once

namespace comptroller {

// The calls of fsync and fdatasync so far, by all threads and also by SQLite.
int synchronisations();

}  // namespace comptroller
