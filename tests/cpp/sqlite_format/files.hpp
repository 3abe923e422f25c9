// A folder for the files of a test, and connections to them.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "sqlite_format/sqlite_format.hpp"
#include "sqlite_format/src/sql.hpp"

namespace sqlite_format {

// Throws unless the condition is true. Fuzz targets use it, too, without doctest.
inline void require(bool is_true, const std::string& what) {
  if (!is_true) throw std::runtime_error(what);
}

// Removed at the end of the scope.
class Folder {
 public:
  Folder() {
    std::string path = (std::filesystem::temp_directory_path() / "sqlite-format-XXXXXX").string();
    require(::mkdtemp(path.data()) != nullptr, path);
    path_ = path;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  bool is_empty() const { return std::filesystem::is_empty(path_); }
  // Returns the descriptor of a new temporary file.
  int make_file() const {
    std::string path = path_ + "/XXXXXX";
    const int descriptor = ::mkstemp(path.data());
    require(descriptor >= 0, path);
    ::unlink(path.c_str());
    return descriptor;
  }

 private:
  std::string path_;
};

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
inline void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

class Connection {
 public:
  explicit Connection(const std::string& path) {
    require(sqlite3_open(path.c_str(), &handle_) == SQLITE_OK, path);
    // A checkpoint must not change the log of a test.
    sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  }
  ~Connection() { sqlite3_close_v2(handle_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  sqlite3* handle() const { return handle_; }
  void execute(const std::string& sql) const {
    const int result = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
    require(result == SQLITE_OK, sql + ": " + sqlite3_errmsg(handle_));
  }
  std::int64_t number(const std::string& sql) const {
    Sql statement(handle_, sql);
    require(statement.step(), sql);
    return statement.number(0);
  }
  std::string text(const std::string& sql) const {
    Sql statement(handle_, sql);
    require(statement.step(), sql);
    return statement.text(0);
  }

 private:
  sqlite3* handle_ = nullptr;
};

}  // namespace sqlite_format
