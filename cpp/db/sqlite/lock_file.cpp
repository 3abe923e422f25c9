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
    : path_(path), is_optional_(is_optional) {
  const std::lock_guard guard(mutex_);
  if (exists() || is_optional) return;
  throw Error(Code::unavailable,
              "cannot make the lock file " + path + ": " + std::generic_category().message(errno));
}

LockFile::~LockFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

// Whether there is a file to lock; the caller has the mutex.
bool LockFile::exists() {
  if (descriptor_ < 0) {
    const int how = is_optional_ ? O_RDONLY : O_RDWR | O_CREAT;
    descriptor_ = ::open(path_.c_str(), how | O_CLOEXEC, 0666);
  }
  return descriptor_ >= 0;
}

// Whether the lock is this thread's now.
bool LockFile::take() {
  std::unique_lock guard(mutex_, std::try_to_lock);
  if (!guard) return false;
  if (exists() && ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK || errno == EINTR) return false;
    throw Error(Code::unavailable,
                "the lock file cannot be locked: " + std::generic_category().message(errno));
  }
  guard.release();
  return true;
}

void LockFile::release() {
  if (descriptor_ >= 0) ::flock(descriptor_, LOCK_UN);
  mutex_.unlock();
}

LockFile::Hold::Hold(LockFile& lock, std::chrono::steady_clock::time_point deadline,
                     const std::function<void()>& while_waiting)
    : lock_(lock) {
  using namespace std::chrono_literals;
  // flock has no timeout; another process holds the lock for a commit, a few hundred microseconds.
  auto pause = 20us;
  auto told = std::chrono::steady_clock::now();
  while (!lock_.take()) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= deadline) {
      throw Error(Code::unavailable, "another writer is busy; try again later");
    }
    if (while_waiting && now - told >= 100ms) {
      while_waiting();
      told = now;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(1ms));
  }
  is_held_ = true;
}

LockFile::Hold::Hold(LockFile& lock, std::try_to_lock_t) : lock_(lock), is_held_(lock.take()) {}

LockFile::Hold::~Hold() {
  if (is_held_) lock_.release();
}

}  // namespace comptroller::db::sqlite
