// A folder for the files of a test, and connections to them.
#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "sqlite_format/sqlite_format.hpp"
#include "sqlite_format/src/sql.hpp"

namespace sqlite_format {

// Removed at the end of the scope.
class Folder {
 public:
  Folder() {
    std::string path = (std::filesystem::temp_directory_path() / "sqlite-format-XXXXXX").string();
    REQUIRE(::mkdtemp(path.data()) != nullptr);
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
    REQUIRE(descriptor >= 0);
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
    REQUIRE(sqlite3_open(path.c_str(), &handle_) == SQLITE_OK);
    // A checkpoint must not change the log of a test.
    sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  }
  ~Connection() { sqlite3_close_v2(handle_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  sqlite3* handle() const { return handle_; }
  int try_to(const std::string& sql) const {
    return sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  }
  void execute(const std::string& sql) const {
    CAPTURE(sql);
    const int result = try_to(sql);
    REQUIRE_MESSAGE(result == SQLITE_OK, sqlite3_errmsg(handle_));
  }
  std::int64_t number(const std::string& sql) const {
    Sql statement(handle_, sql);
    REQUIRE(statement.step());
    return statement.number(0);
  }
  std::string text(const std::string& sql) const {
    Sql statement(handle_, sql);
    REQUIRE(statement.step());
    return statement.text(0);
  }

 private:
  sqlite3* handle_ = nullptr;
};

}  // namespace sqlite_format
