// The pool of connections that read a database.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "db/sqlite/connection.hpp"

namespace comptroller::db::sqlite {

// For any thread.
class Readers {
 public:
  // Idle connections beyond so many are closed: each holds a page cache of up to 8 MiB, and threads
  // that all run at once are no more than the processors, with some that wait for the disk.
  static constexpr std::size_t most_idle = 16;

  // Opens nothing yet. `is_only_read`: this process never writes the file. `interrupt` must outlive
  // the connections.
  Readers(std::string path, bool is_only_read, const Interrupt& interrupt)
      : path_(std::move(path)), is_only_read_(is_only_read), interrupt_(interrupt) {}

  // A connection outside any transaction, an idle one if possible. It must be given back before
  // this object is destroyed.
  Lease lend();
  // Closes the idle connections.
  void close();

 private:
  // Changes when a file is written or replaced: inode, size, time of the last change.
  using FileState = std::tuple<::ino_t, ::off_t, std::filesystem::file_time_type>;

  FileState state() const;
  bool needs_immutable() const;
  void follow_changes();
  void take_back(std::unique_ptr<SqliteConnection> connection, int opening);

  std::string path_;
  bool is_only_read_;
  const Interrupt& interrupt_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<SqliteConnection>> idle_;
  // The state of a file that is read as one that nobody changes, else nullopt.
  std::optional<FileState> immutable_;
  int opening_ = 0;  // connections from an earlier one are not used again
};

}  // namespace comptroller::db::sqlite
