#include "synchronisations.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

namespace comptroller {

namespace {
std::atomic<int> count = 0;
}

int synchronisations() {
  return count;
}

}  // namespace comptroller

#ifdef __linux__
// Visible, so that the linker gives them to SQLite's library, too.
extern "C" {
__attribute__((visibility("default"))) int fsync(int descriptor) {
  ++comptroller::count;
  return static_cast<int>(::syscall(SYS_fsync, descriptor));
}
__attribute__((visibility("default"))) int fdatasync(int descriptor) {
  ++comptroller::count;
  return static_cast<int>(::syscall(SYS_fdatasync, descriptor));
}
}
#endif
