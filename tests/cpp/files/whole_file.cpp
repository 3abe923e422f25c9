#include "files/whole_file.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <thread>

#include "load/folder.hpp"
#include "model/error.hpp"
#include "synchronisations.hpp"

namespace comptroller::files {
namespace {

namespace fs = std::filesystem;

const std::string large(std::size_t{3} << 20U, 'x');

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

std::size_t files_in(const load::Folder& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()));
}

// Writes a text to a file. Returns the detail of the error, which must have this code, or
// "written".
std::string refusal(const std::string& path, const std::string& text = "new",
                    Code code = Code::unusable) {
  try {
    WholeFile file(path);
    file.write(text);
    file.commit();
  } catch (const Error& error) {
    CHECK(error.code() == code);
    return error.detail();
  }
  return "written";
}

#ifdef __linux__
TEST_CASE("a file and its folder are on the disk when it is committed") {
  const load::Folder folder;
  WholeFile file(folder / "claims.csv");
  file.write("new");
  const int before = synchronisations();
  file.commit();
  CHECK(synchronisations() == before + 2);
}
#endif

#ifdef __linux__
TEST_CASE("a file that cannot be synchronised, or whose folder cannot, changes nothing") {
  const load::Folder folder;
  for (const int failing : {1, 2}) {
    for (const bool is_there : {false, true}) {
      const std::string path = folder / "claims";
      if (is_there) write_file(path, "old");
      {
        const FailingSynchronisations scope(failing);
        CHECK(refusal(path, "new", Code::unavailable) ==
              path + " cannot be written: Input/output error");
      }
      CHECK(content(path) == (is_there ? "old" : ""));
      CHECK(files_in(folder) == (is_there ? 1 : 0));
      fs::remove(path);
    }
    const FailingSynchronisations scope(failing);
    WholeFile copy(folder / "copy", WholeFile::Existing::refuse);
    CHECK_THROWS_WITH(copy.commit(), doctest::Contains("cannot be written"));
    CHECK(files_in(folder) == 0);
  }
}

TEST_CASE("a file that must stay replaced although its folder cannot be synchronised is reported") {
  // The system refuses hard links to files that the user may not write.
  if (::geteuid() != 0 || content("/proc/sys/fs/protected_hardlinks") != "1\n") return;
  const load::Folder folder;
  const std::string path = folder / "claims";
  write_file(path, "old");
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr uid_t nobody = 65534;
    const bool is_other = ::chown(folder.path().c_str(), nobody, nobody) == 0 &&
                          ::chmod(path.c_str(), 0644) == 0 && ::seteuid(nobody) == 0;
    const FailingSynchronisations scope(2);
    const std::string expected =
        path + " was replaced, but its folder cannot be synchronised: Input/output error";
    ::_exit(is_other && refusal(path, "new", Code::unavailable) == expected ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  CHECK(content(path) == "new");
  CHECK(files_in(folder) == 1);
}
#endif

TEST_CASE("a file gets its name when it is committed") {
  const load::Folder folder;
  const std::string path = folder / "claims.csv";
  WholeFile file(path);
  std::string expected;
  for (int row = 0; row < 3'000; ++row) {
    const std::string line = "row " + std::to_string(row) + "\r\n";
    expected += line;
    file.write(line);
  }
  CHECK_FALSE(fs::exists(path));
  file.commit();
  CHECK(content(path) == expected);
  CHECK(files_in(folder) == 1);
}

TEST_CASE("an empty file is written") {
  const load::Folder folder;
  CHECK(refusal(folder / "empty", "") == "written");
  CHECK(content(folder / "empty").empty());
}

TEST_CASE("an uncommitted file leaves nothing, and the existing file is unchanged") {
  const load::Folder folder;
  const std::string path = folder / "claims.ndjson";
  write_file(path, "old");
  {
    WholeFile file(path);
    file.write(large);
    CHECK(content(path) == "old");
  }
  CHECK(content(path) == "old");
  CHECK(files_in(folder) == 1);
}

TEST_CASE("a replaced file passes its permissions on, and links are followed") {
  const load::Folder folder;
  const std::string path = folder / "private";
  const std::string link = folder / "link";
  write_file(path, "old");
  REQUIRE(::chmod(path.c_str(), 0600) == 0);
  fs::create_symlink(path, link);
  CHECK(refusal(link) == "written");
  CHECK(fs::is_symlink(link));
  CHECK(content(path) == "new");
  struct stat status{};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0600U);
}

TEST_CASE("a link at a predictable name keeps its target") {
  const load::Folder folder;
  const std::string path = folder / "claims";
  write_file(folder / "precious", "mine");
  fs::create_symlink(folder / "precious", path + ".part");
  CHECK(refusal(path, "whole") == "written");
  CHECK(content(path) == "whole");
  CHECK(content(folder / "precious") == "mine");
  CHECK(fs::is_symlink(path + ".part"));
}

TEST_CASE("two files written at once under one name: each is complete, and the later one remains") {
  const load::Folder folder;
  const std::string path = folder / "claims";
  WholeFile first(path);
  WholeFile second(path);
  CHECK(first.unfinished_path() != second.unfinished_path());
  first.write(large);
  second.write("second");
  first.commit();
  CHECK(content(path) == large);
  second.commit();
  CHECK(content(path) == "second");
  CHECK(files_in(folder) == 1);
}

TEST_CASE("a file that must not replace another is refused at its start and on commit") {
  const load::Folder folder;
  const std::string path = folder / "copy";
  constexpr auto refuse = WholeFile::Existing::refuse;
  WholeFile first(path, refuse);
  WholeFile second(path, refuse);
  first.write("first");
  second.write("second");
  first.commit();
  CHECK_THROWS_WITH(second.commit(), doctest::Contains("exists already"));
  CHECK_THROWS_WITH(WholeFile(path, refuse), doctest::Contains("exists already"));
  fs::create_symlink(folder / "nowhere", folder / "dangling");
  CHECK_THROWS_WITH(WholeFile(folder / "dangling", refuse), doctest::Contains("exists already"));
  CHECK(content(path) == "first");
  CHECK(files_in(folder) == 2);
}

TEST_CASE("the unfinished file can be opened by its name, and is private if it replaces a file") {
  const load::Folder folder;
  const std::string path = folder / "claims";
  write_file(path, "old");
  REQUIRE(::chmod(path.c_str(), 0640) == 0);
  WholeFile file(path);
  const std::string unfinished = file.unfinished_path();
  CHECK(unfinished == file.unfinished_path());
  CHECK(file.is_unfinished_path_ours());
  struct stat status{};
  REQUIRE(::stat(unfinished.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0600U);
  write_file(unfinished, "new");
  file.commit();
  CHECK(content(path) == "new");
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0640U);

  WholeFile other(path);
  fs::remove(other.unfinished_path());
  write_file(other.unfinished_path(), "another's");
  CHECK_FALSE(other.is_unfinished_path_ours());
}

TEST_CASE("a new file has the permissions that the umask leaves") {
  const load::Folder folder;
  const mode_t before = ::umask(0027);
  CHECK(refusal(folder / "claims") == "written");
  ::umask(before);
  struct stat status{};
  REQUIRE(::stat((folder / "claims").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0640U);
}

TEST_CASE("a file is written to a folder with write permission only") {
  const load::Folder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    // The superuser may read any folder.
    constexpr uid_t nobody = 65534;
    bool is_written = ::chown(folder.path().c_str(), nobody, nobody) == 0 || ::geteuid() != 0;
    is_written = is_written && (::geteuid() != 0 || ::seteuid(nobody) == 0);
    is_written = is_written && ::chmod(folder.path().c_str(), 0300) == 0;
    ::_exit(is_written && refusal(folder / "claims") == "written" ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  REQUIRE(::chmod(folder.path().c_str(), 0700) == 0);
  CHECK(content(folder / "claims") == "new");
}

TEST_CASE("a killed process leaves nothing of a file without a name") {
  const load::Folder folder;
  {
    const WholeFile file(folder / "claims");
    if (files_in(folder) > 0) return;  // the file system does not support files without a name
  }
  const pid_t child = ::fork();
  if (child == 0) {
    WholeFile file(folder / "claims");
    file.write(large);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(files_in(folder) == 0);
}

TEST_CASE("a path that cannot be written is unusable, with path and reason") {
  const load::Folder folder;
  const std::string missing = folder / "missing/claims";
  CHECK(refusal(missing) == missing + " cannot be written: No such file or directory");
  CHECK(refusal(folder.path()) == folder.path() + " cannot be written: Is a directory");
  CHECK(refusal("") == " cannot be written: No such file or directory");
  write_file(folder / "file", "");
  const std::string inside = folder / "file/claims";
  CHECK(refusal(inside) == inside + " cannot be written: Not a directory");
  CHECK(refusal("/proc/claims").starts_with("/proc/claims cannot be written: "));
}

TEST_CASE("a full disk is unavailable, and a device is not replaced by a file") {
  if (!fs::exists("/dev/full")) return;
  CHECK(refusal("/dev/full", "x", Code::unavailable) ==
        "/dev/full cannot be written: No space left on device");
  CHECK(refusal("/dev/full", large, Code::unavailable) ==
        "/dev/full cannot be written: No space left on device");
  CHECK(fs::is_character_file("/dev/full"));
  CHECK_FALSE(fs::exists("/dev/full.part"));
  CHECK(refusal("/dev/null", "x") == "written");
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("a device that fails when it is closed is not written") {
  const int next = ::dup(STDOUT_FILENO);
  ::close(next);
  WholeFile file("/dev/null");
  file.write("x");
  ::close(next);  // the descriptor of the file, which then cannot be closed
  CHECK_THROWS_WITH_AS(file.commit(), "/dev/null cannot be written: Bad file descriptor", Error);
}

// Runs work in a thread that gets signals until the work has thrown; they do not restart its calls.
template <class Work>
void interrupt(Work work) {
  struct sigaction action{};
  action.sa_handler = [](int) {};
  struct sigaction before{};
  REQUIRE(::sigaction(SIGUSR1, &action, &before) == 0);
  std::atomic<bool> is_interrupted = false;
  std::atomic<bool> may_end = false;
  std::thread waiting([&] {
    try {
      work([] { throw Error(Code::closed, "interrupted"); });
    } catch (const Error& error) {
      is_interrupted = error.code() == Code::closed;
    }
    while (!may_end) std::this_thread::yield();  // it must exist when it gets a signal
  });
  while (!is_interrupted) {
    ::pthread_kill(waiting.native_handle(), SIGUSR1);
    std::this_thread::yield();
  }
  may_end = true;
  waiting.join();
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST_CASE("a signal ends the wait for the reader of a pipe") {
  const load::Folder folder;
  const std::string path = folder / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  SUBCASE("when it is opened") {
    interrupt([&](auto check) { const WholeFile file(path, WholeFile::Existing::replace, check); });
  }
  SUBCASE("when it is full") {
    const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK);
    interrupt([&](auto check) {
      WholeFile file(path, WholeFile::Existing::replace, check);
      file.write(large);
    });
    ::close(reader);
  }
}

}  // namespace
}  // namespace comptroller::files
