// The pool of connections for reading a database.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "db/idle_connections.hpp"
#include "db/sqlite/connection.hpp"
#include "db/sqlite/open_file.hpp"

namespace comptroller::db::sqlite {

// Safe for many threads. Each connection caches up to 12 MiB of pages, and the number of threads
// that run at once is about the number of processors, plus a few that wait for the disk.
class Readers {
 public:
  // Opens no connection yet. `is_only_read`: this process never writes the file. `is_only_sql`: the
  // connections read tables with SQL, not by their pages. `file` and `interrupt` must outlive the
  // connections.
  Readers(OpenFile& file, bool is_only_read, bool is_only_sql, const Interrupt& interrupt);
  // Closes the idle connections. Removes the empty log and its index if they were made to read a
  // file that nobody has open.
  ~Readers();
  Readers(const Readers&) = delete;
  Readers& operator=(const Readers&) = delete;

  // Lends a connection outside any transaction, an idle one if possible. It must be returned before
  // this object is destroyed. All connections read one file: if the path leads to another one,
  // throws unusable instead of opening a connection.
  Lease lend();
  // Returns a number that changes when the earlier connections do not see the file's changes.
  int opening();
  // Closes the idle connections.
  void close();

 private:
  bool may_lock() const;
  std::optional<files::FileState> state_of_immutable() const;
  bool has_log() const;
  void follow_changes();
  void take_back(std::unique_ptr<SqliteConnection> connection, int opening);

  OpenFile& file_;
  std::string path_;
  bool is_only_read_;
  bool is_only_sql_;
  const Interrupt& interrupt_;
  std::mutex mutex_;
  IdleConnections<SqliteConnection> idle_;
  // The state of a file opened as immutable, else nullopt.
  std::optional<files::FileState> immutable_;
  bool makes_log_ = false;
  int opening_ = 0;  // connections of an earlier opening are not used again
};

}  // namespace comptroller::db::sqlite
