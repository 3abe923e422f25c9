// Locks between all databases of this process and of others. They are flock locks on files beside
// the database, which the system releases when a process dies.
//
// A database has two locks:
//   write lock    <file>-lock          held for a whole write transaction or checkpoint
//   opening lock  <file>-opening-lock  held to open, migrate and close, so that no process sees one
//                                      of these half done; never held for long, so that a load
//                                      of another process does not delay opening the database
// The write lock also excludes the race of SQLite 3.7.0 to 3.51.2 between a writer and a checkpoint
// that resets the log (sqlite.org/wal.html#walresetbug), but only among comptroller's own
// processes: a program that does not take it may still lose commits of theirs and of its own.
//
// Order: a thread that holds an opening lock waits for no other lock, but it may try one. So the
// write lock is always taken first. Debug builds assert this.
#pragma once

#include <mutex>
#include <string>

#include "db/interrupt.hpp"

namespace comptroller::db::sqlite {

class LockFile {
 public:
  enum class Purpose { write, opening };

  // Creates the file beside the database if it is missing, with the owner and the permissions of
  // the database, so that a command of root locks no user out. Throws if it cannot be created,
  // unless `is_optional`: then locking is a no-op until another process has created the file.
  LockFile(std::string database, Purpose purpose, bool is_optional);
  ~LockFile();

 private:
  friend class LockGuard;

  // A forked child closes its copies of all descriptors. Otherwise they would keep the locks of the
  // parent, even after the parent's death. The parent keeps its locks.
  static void before_fork();
  static void after_fork_in_parent();
  static void after_fork_in_child();

  void close();
  int open() const;
  bool exists();
  bool try_lock();
  void release();

  std::string database_;
  Purpose purpose_;
  std::string path_;
  bool is_optional_;
  std::mutex mutex_;  // the descriptor owns the file lock, so all threads share it
  int descriptor_ = -1;
};

// Holds a lock until the end of the scope, against other processes, other LockFiles, and other
// threads that use this LockFile.
class LockGuard {
 public:
  // Throws unavailable if the lock is not free in time, and the exceptions of `interrupt`.
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
