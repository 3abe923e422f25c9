#include "db/sqlite/lock_file.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <thread>
#include <tuple>
#include <vector>

namespace comptroller::db::sqlite {

namespace {

constexpr ::mode_t mode_of_new = 0644;  // like SQLite's files, minus the umask

// Every LockFile of the process. The mutex also guards the opening and closing of their
// descriptors, so that a fork finds all of them.
struct Registry {
  std::mutex mutex;
  std::vector<LockFile*> locks;
};

Registry& registry() {
  static auto* const all = new Registry;  // never destroyed, because static databases use it
  return *all;
}

[[maybe_unused]] thread_local int opening_locks_held = 0;  // read by assertions

}  // namespace

void LockFile::before_fork() {
  registry().mutex.lock();
}

void LockFile::after_fork_in_parent() {
  registry().mutex.unlock();
}

void LockFile::after_fork_in_child() {
  for (LockFile* lock : registry().locks) {
    if (lock->descriptor_ >= 0) ::close(lock->descriptor_);
    lock->descriptor_ = -1;
  }
  registry().mutex.unlock();
}

LockFile::LockFile(std::string database, Purpose purpose, bool is_optional)
    : database_(std::move(database)),
      purpose_(purpose),
      path_(database_ + (purpose == Purpose::write ? "-lock" : "-opening-lock")),
      is_optional_(is_optional) {
  static const int is_registered =
      ::pthread_atfork(&before_fork, &after_fork_in_parent, &after_fork_in_child);
  if (is_registered != 0) throw Error(Code::unavailable, "out of memory");
  {
    const std::lock_guard registering(registry().mutex);
    registry().locks.push_back(this);
  }
  if (exists() || is_optional) return;
  const int failure = errno;
  close();
  throw Error::of_system(failure, "cannot make the lock file " + path_);
}

LockFile::~LockFile() {
  close();
}

void LockFile::close() {
  const std::lock_guard registering(registry().mutex);
  std::erase(registry().locks, this);
  if (descriptor_ >= 0) ::close(descriptor_);
}

// Opens the file, and creates it if it is missing. Returns -1 if that fails.
int LockFile::open() const {
  constexpr int how = O_RDONLY | O_CLOEXEC;  // flock needs no permission to write
  const int existing = ::open(path_.c_str(), how);
  if (existing >= 0 || errno != ENOENT || is_optional_) return existing;
  struct stat database{};
  const bool is_known = ::stat(database_.c_str(), &database) == 0;
  const ::mode_t mode = is_known ? database.st_mode & 0777 : mode_of_new;
  // Exclusively, so that root gives away no file to which somebody's link leads.
  const int created = ::open(path_.c_str(), how | O_CREAT | O_EXCL, mode);
  if (created < 0 && errno == EEXIST) return ::open(path_.c_str(), how);  // another process did
  if (created < 0 || !is_known) return created;
  // Only root may give a file away; SQLite does the same with its log.
  if (::geteuid() == 0) std::ignore = ::fchown(created, database.st_uid, database.st_gid);
  std::ignore = ::fchmod(created, mode);  // the umask has removed some
  return created;
}

// Whether there is a file to lock. Called with mutex_ held, or by the constructor.
bool LockFile::exists() {
  if (descriptor_ < 0) {
    const std::lock_guard opening(registry().mutex);
    descriptor_ = open();
  }
  return descriptor_ >= 0;
}

// Tries to lock the file; returns whether this thread holds the lock.
bool LockFile::try_lock() {
  std::unique_lock guard(mutex_, std::try_to_lock);
  if (!guard) return false;
  if (exists() && ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK || errno == EINTR) return false;
    throw Error::of_system(errno, "the lock file cannot be locked");
  }
  guard.release();
  if (purpose_ == Purpose::opening) ++opening_locks_held;
  return true;
}

void LockFile::release() {
  if (purpose_ == Purpose::opening) --opening_locks_held;
  if (descriptor_ >= 0) ::flock(descriptor_, LOCK_UN);
  mutex_.unlock();
}

LockGuard::LockGuard(LockFile& lock, Deadline deadline, const Interrupt* interrupt) : lock_(lock) {
  using namespace std::chrono_literals;
  assert(opening_locks_held == 0);  // order of locks, see the header
  // flock has no timeout. Another process holds the lock for a commit, a few hundred microseconds.
  auto pause = 20us;
  auto checked = Clock::now();
  while (!lock_.try_lock()) {
    const auto now = Clock::now();
    if (now >= deadline) {
      throw Error(Code::unavailable, "another writer is busy; try again later");
    }
    if (interrupt != nullptr && now - checked >= check_interval) {
      interrupt->check();
      checked = now;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(1ms));
  }
  is_held_ = true;
}

LockGuard::LockGuard(LockFile& lock, std::try_to_lock_t) : lock_(lock), is_held_(lock.try_lock()) {}

LockGuard::~LockGuard() {
  if (is_held_) lock_.release();
}

}  // namespace comptroller::db::sqlite
