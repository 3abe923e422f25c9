#include "synchronisations.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <limits>

namespace comptroller {

namespace {

std::atomic<int> count = 0;
std::atomic<int> last_successful = std::numeric_limits<int>::max();

[[maybe_unused]] int synchronise(long call, int descriptor) {
  if (++count <= last_successful) return static_cast<int>(::syscall(call, descriptor));
  errno = EIO;
  return -1;
}

}  // namespace

int synchronisations() {
  return count;
}

FailingSynchronisations::FailingSynchronisations(int first) {
  last_successful = count + first - 1;
}

FailingSynchronisations::~FailingSynchronisations() {
  last_successful = std::numeric_limits<int>::max();
}

}  // namespace comptroller

#ifdef __linux__
// Visible, so that the linker gives them to SQLite's library, too.
extern "C" {
__attribute__((visibility("default"))) int fsync(int descriptor) {
  return comptroller::synchronise(SYS_fsync, descriptor);
}
__attribute__((visibility("default"))) int fdatasync(int descriptor) {
  return comptroller::synchronise(SYS_fdatasync, descriptor);
}
}
#endif
