// Databases and forked processes.
#pragma once

namespace comptroller::db {

// What to do instead of using, or opening again, a database that the process inherited open.
inline constexpr const char* how_to_fork =
    "start the process with the method `spawn` or `forkserver`, or open the store after the fork "
    "and close it before";

}  // namespace comptroller::db
