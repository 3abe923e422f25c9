// The lock under which a database is opened, written, checkpointed and closed: one holder at a
// time, among all services of this process and of others. It is the whole-file lock of a file
// beside the database, so that nothing is left locked when a process dies.
#pragma once

#include <chrono>
#include <string>

namespace comptroller::db::sqlite {

class LockFile {
 public:
  // Makes the file if need be. A file that cannot be made is an error, unless `is_optional`: then
  // holding the lock is a no-op.
  LockFile(const std::string& path, bool is_optional);
  ~LockFile();
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

  // Holds the lock to the end of the scope. Throws unavailable when it is not free in time.
  class Hold {
   public:
    Hold(LockFile& lock, std::chrono::steady_clock::time_point deadline);
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    LockFile& lock_;
  };

 private:
  int descriptor_ = -1;
};

}  // namespace comptroller::db::sqlite
