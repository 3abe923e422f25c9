#include "db/sqlite/lock_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <thread>

#include "model/error.hpp"

namespace comptroller::db::sqlite {

LockFile::LockFile(const std::string& path, bool is_optional)
    : descriptor_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
  if (descriptor_ >= 0 || is_optional) return;
  throw Error(Code::unavailable,
              "cannot make the lock file " + path + ": " + std::generic_category().message(errno));
}

LockFile::~LockFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

LockFile::Hold::Hold(LockFile& lock, std::chrono::steady_clock::time_point deadline) : lock_(lock) {
  using namespace std::chrono_literals;
  if (lock_.descriptor_ < 0) return;
  // flock has no timeout; another process holds the lock for a commit, a few hundred microseconds.
  auto pause = 20us;
  while (::flock(lock_.descriptor_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      throw Error(Code::unavailable,
                  "the lock file cannot be locked: " + std::generic_category().message(errno));
    }
    if (std::chrono::steady_clock::now() >= deadline) {
      throw Error(Code::unavailable, "another writer is busy; try again later");
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(1ms));
  }
  is_held_ = true;
}

LockFile::Hold::Hold(LockFile& lock, std::try_to_lock_t)
    : lock_(lock),
      is_held_(lock.descriptor_ >= 0 && ::flock(lock.descriptor_, LOCK_EX | LOCK_NB) == 0) {}

LockFile::Hold::~Hold() {
  if (is_held_) ::flock(lock_.descriptor_, LOCK_UN);
}

}  // namespace comptroller::db::sqlite
