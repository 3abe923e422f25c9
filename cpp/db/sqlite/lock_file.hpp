// Locks among all databases of this process and of others: flock on files beside the database, so
// that nothing stays locked when a process dies.
//
// A database has two locks:
//   write lock   <file>-lock         held for a whole write transaction or checkpoint
//   commit lock  <file>-commit-lock  held to open, to commit, to begin snapshots on several
//                                    connections, and to close; never for long, so nobody waits for
//                                    another's load to open or read the database
// Order: a thread that holds a commit lock waits for no other lock (it may try one). So the write
// lock is always taken first. Debug builds assert it.
#pragma once

#include <mutex>
#include <string>

#include "db/sqlite/interrupt.hpp"

namespace comptroller::db::sqlite {

class LockFile {
 public:
  enum class Purpose { write, commit };

  // Makes the file if need be. A file that cannot be made is an error, unless `is_optional`: then
  // none is made, and locking is a no-op until someone else has made it.
  LockFile(std::string path, Purpose purpose, bool is_optional);
  ~LockFile();
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

 private:
  friend class LockGuard;

  // A forked child closes its copies of all descriptors: they would keep the locks of its parent,
  // also after the parent's death. The parent's own locks stay.
  static void before_fork();
  static void after_fork_in_parent();
  static void after_fork_in_child();

  void close();
  bool exists();
  bool take();
  void release();

  std::string path_;
  Purpose purpose_;
  bool is_optional_;
  std::mutex mutex_;  // the file lock belongs to the descriptor, so all threads here share it
  int descriptor_ = -1;
};

// Holds a lock to the end of the scope: against other processes, other LockFiles and other threads
// with this one.
class LockGuard {
 public:
  // Throws unavailable when the lock is not free in time, and what `interrupt` throws.
  LockGuard(LockFile& lock, Deadline deadline, const Interrupt* interrupt = nullptr);
  // Takes the lock if it is free.
  LockGuard(LockFile& lock, std::try_to_lock_t how);
  ~LockGuard();
  bool is_held() const { return is_held_; }
  LockGuard(const LockGuard&) = delete;
  LockGuard& operator=(const LockGuard&) = delete;

 private:
  LockFile& lock_;
  bool is_held_ = false;
};

}  // namespace comptroller::db::sqlite
