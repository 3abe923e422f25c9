// Counts how often the test program waits for the disk, and simulates failures.
// synchronisations.cpp replaces the functions of the system for this.
#pragma once

namespace comptroller {

// The calls of fsync and fdatasync so far, by all threads and also by SQLite.
int synchronisations();

// Until the end of the scope, the `first`th call, counted from 1, and all later ones fail with EIO.
class FailingSynchronisations {
 public:
  explicit FailingSynchronisations(int first);
  ~FailingSynchronisations();
  FailingSynchronisations(const FailingSynchronisations&) = delete;
  FailingSynchronisations& operator=(const FailingSynchronisations&) = delete;
};

}  // namespace comptroller
