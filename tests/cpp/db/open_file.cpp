#include "db/sqlite/open_file.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "db/folder.hpp"
#include "db/sqlite/database.hpp"
#include "model/error.hpp"

namespace comptroller::db {
namespace {

// Returns the detail of the unusable error of `act`; empty if there is none.
template <class Act>
std::string refusal(const Act& act) {
  try {
    act();
    return "";
  } catch (const Error& error) {
    CHECK(error.code() == Code::unusable);
    return error.detail();
  }
}

// Whether `act` returns true in a forked child.
template <class Act>
bool in_child(const Act& act) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(act() ? 0 : 1);
  int status = 1;
  ::waitpid(child, &status, 0);
  return status == 0;
}

bool is_refused_after_fork(const std::string& path, bool read_only) {
  return refusal([&] { sqlite::open(path, {.read_only = read_only}); }).find("forkserver") !=
         std::string::npos;
}

TEST_CASE("the files of an open database are found by any name, others are not") {
  const Folder folder;
  const std::string path = folder / "a.db";
  auto database = sqlite::open(path, {});
  write_file(folder / "b.db", "");
  std::filesystem::create_symlink(path, folder / "link");
  std::filesystem::create_hard_link(path, folder / "other");
  std::filesystem::create_hard_link(path + "-shm", folder / "shm");
  for (const std::string& name :
       {path, path + "-wal", path + "-shm", path + "-lock", path + "-opening-lock",
        path + "-filling", folder / "./a.db", folder / "link", folder / "other", folder / "shm"}) {
    CAPTURE(name);
    CHECK(sqlite::find_open_file(name) == path);
    CHECK(database->owns(name));
  }
  for (const std::string& name : {folder / "b.db", folder / "none", folder / "a.db-other"}) {
    CHECK_FALSE(sqlite::find_open_file(name));
  }
  std::filesystem::rename(path, folder / "moved");
  CHECK(sqlite::find_open_file(folder / "moved") == path);
  database.reset();
  CHECK_FALSE(sqlite::find_open_file(path));
}

TEST_CASE("a database that is created is registered with its new file") {
  const Folder folder;
  const auto database = sqlite::open(folder / "a.db", {});
  std::filesystem::rename(folder / "a.db", folder / "b.db");
  CHECK(sqlite::find_open_file(folder / "b.db") == folder / "a.db");
}

TEST_CASE("a forked child may open a database that its parent does not have open") {
  const Folder folder;
  const std::string path = folder / "a.db";
  auto database = sqlite::open(path, {});
  CHECK(in_child([&] { return is_refused_after_fork(path, false); }));
  CHECK(in_child([&] { return is_refused_after_fork(path, true); }));
  CHECK(in_child([&] { return in_child([&] { return is_refused_after_fork(path, false); }); }));
  CHECK(in_child([&] { return refusal([&] { sqlite::open(folder / "b.db", {}); }).empty(); }));
  std::filesystem::create_hard_link(path, folder / "other");
  CHECK(in_child([&] { return is_refused_after_fork(folder / "other", false); }));
  std::filesystem::remove(folder / "other");
  database.reset();
  CHECK(in_child([&] { return refusal([&] { sqlite::open(path, {}); }).empty(); }));
}

TEST_CASE("a file has its place while its path leads to it") {
  const Folder folder;
  const std::string path = folder / "a.db";
  write_file(path, "");
  sqlite::OpenFile file(path);
  CHECK(file.has_place());
  std::filesystem::rename(path, folder / "b.db");
  CHECK_FALSE(file.has_place());
  CHECK(refusal([&] { file.require_place(); }).find("put it back") != std::string::npos);
  write_file(path, "another");
  CHECK_FALSE(file.has_place());
  file.identify();
  CHECK(refusal([&] { file.require_place(); }).empty());
  std::filesystem::remove(path);
  std::filesystem::create_symlink(path, path);
  CHECK(file.has_place());  // the system cannot tell
}

TEST_CASE("a database with several names, or a file beside an open one, is refused") {
  const Folder folder;
  const std::string path = folder / "a.db";
  sqlite::open(path, {}).reset();
  std::filesystem::create_hard_link(path, folder / "b.db");
  CHECK(refusal([&] { sqlite::open(path, {}); }).find("2 names") != std::string::npos);
  std::filesystem::remove(folder / "b.db");
  const auto database = sqlite::open(path, {});
  CHECK(refusal([&] { sqlite::open(path + "-shm", {}); }).find("open store") != std::string::npos);
}

}  // namespace
}  // namespace comptroller::db
