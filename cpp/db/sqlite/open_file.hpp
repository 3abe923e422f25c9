// The database files that are open in this process.
//
// SQLite holds POSIX locks on an open file. The process that closes it last removes the log, and it
// knows by these locks that it is the last. They have two traps:
// - A process loses all its locks on a file when it closes any descriptor of the file. So only
//   SQLite may open the files of a registered database; see find_open_file.
// - A forked child has no locks, but its copy of SQLite's memory says that it has. Connections that
//   it opens to the file would stay without locks. So it must not open the file.
#pragma once

#include <sys/types.h>

#include <array>
#include <optional>
#include <string>

namespace comptroller::db::sqlite {

// The suffix of the name of a private copy (private_copy.hpp), and of the empty file that marks the
// creation of a database until it has tables.
inline constexpr const char* private_copy_suffix = "-filling";

// The suffixes of the files of a database.
inline constexpr std::array<const char*, 6> file_suffixes{
    "", "-wal", "-shm", "-lock", "-opening-lock", private_copy_suffix};

// Registers a file for as long as connections to it may be open. For many threads.
class OpenFile {
 public:
  // Registers the file, and the names of the files beside it, also if it does not exist yet. Throws
  // unusable if the process inherited the file open.
  explicit OpenFile(std::string path);
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  const std::string& path() const { return path_; }
  // Registers the file that now has the path, after it was created, or to follow a replacement.
  // Throws as the constructor does.
  void identify();
  // Whether the path leads to the registered file. True if the system cannot tell.
  bool has_place() const;
  // Throws unusable unless the file has its place.
  void require_place() const;

 private:
  friend std::optional<std::string> find_open_file(const std::string& path);

  struct Id {
    ::dev_t device;
    ::ino_t inode;
    friend bool operator==(const Id&, const Id&) = default;
  };

  static std::optional<Id> id_of(const std::string& path);
  static void before_fork();
  static void after_fork_in_parent();
  static void after_fork_in_child();
  bool has(const std::string& resolved, const std::optional<Id>& id) const;

  std::string path_;
  std::optional<Id> id_;  // guarded by the registry's mutex, like the flag
  bool is_inherited_ = false;
};

// Returns the path without links, also if the file does not exist.
std::string resolve(const std::string& path);

// Returns the path of the open database to whose files a path leads: to the database, its log, the
// index of the log, or its lock files, by any name. nullopt if there is none; the path may then be
// opened.
std::optional<std::string> find_open_file(const std::string& path);

}  // namespace comptroller::db::sqlite
