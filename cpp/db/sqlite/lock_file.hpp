// A lock that one holder has at a time, among all services of this process and of others. It is the
// whole-file lock of a file beside the database, so that nothing is left locked when a process
// dies.
//
// A database has two. Whoever writes holds the first for the whole transaction and checkpoint. The
// second is held for moments only: to open, to commit, to begin a read on several connections, to
// close. So nobody has to wait for a long load to open or read the database.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <string>

namespace comptroller::db::sqlite {

class LockFile {
 public:
  // Makes the file if need be. A file that cannot be made is an error, unless `is_optional`: then
  // none is made, and holding the lock is a no-op until someone else has made it.
  LockFile(const std::string& path, bool is_optional);
  ~LockFile();
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

  // Holds the lock to the end of the scope: against other processes, other LockFiles and other
  // threads with this one. Throws unavailable when it is not free in time.
  class Hold {
   public:
    // Calls `while_waiting`, if there is one, ten times a second; what it throws ends the wait.
    Hold(LockFile& lock, std::chrono::steady_clock::time_point deadline,
         const std::function<void()>& while_waiting = {});
    // Holds the lock if it is free.
    Hold(LockFile& lock, std::try_to_lock_t how);
    ~Hold();
    bool is_held() const { return is_held_; }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    LockFile& lock_;
    bool is_held_ = false;
  };

 private:
  bool exists();
  bool take();
  void release();

  std::string path_;
  bool is_optional_;
  std::mutex mutex_;  // the file lock belongs to the descriptor, so all threads here share it
  int descriptor_ = -1;
};

}  // namespace comptroller::db::sqlite
