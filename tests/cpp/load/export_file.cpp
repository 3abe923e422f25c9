#include "load/export_file.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "load/folder.hpp"
#include "model/error.hpp"

namespace comptroller::load {
namespace {

namespace fs = std::filesystem;

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

std::size_t files_in(const Folder& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()));
}

// Exports a text; gives what refused it.
std::string refusal(const std::string& path, const std::string& text = "new") {
  try {
    ExportFile file(path);
    file.buffer() += text;
    file.flush_if_large();
    file.commit();
  } catch (const Error& error) {
    CHECK(error.code() == Code::unavailable);
    return error.detail();
  }
  return "written";
}

TEST_CASE("a file has its name once it is committed, and not before") {
  const Folder folder;
  const std::string path = folder / "claims.csv";
  ExportFile file(path);
  std::string expected;
  for (int row = 0; row < 300'000; ++row) {
    const std::string line = "row " + std::to_string(row) + "\r\n";
    expected += line;
    file.buffer() += line;
    file.flush_if_large();
    CHECK(file.buffer().size() < ExportFile::piece);
  }
  CHECK_FALSE(fs::exists(path));
  file.commit();
  CHECK(content(path) == expected);
  CHECK(files_in(folder) == 1);
}

TEST_CASE("nothing is a file too") {
  const Folder folder;
  CHECK(refusal(folder / "empty", "") == "written");
  CHECK(content(folder / "empty").empty());
}

TEST_CASE("what is not committed leaves nothing behind, and what was there stays") {
  const Folder folder;
  const std::string path = folder / "claims.ndjson";
  write_file(path, "old");
  {
    ExportFile file(path);
    file.buffer().append(3 * ExportFile::piece, 'x');
    file.flush_if_large();
    CHECK(content(path) == "old");
  }
  CHECK(content(path) == "old");
  CHECK(files_in(folder) == 1);
}

TEST_CASE("a file that is replaced lends its permissions; a link is followed") {
  const Folder folder;
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

TEST_CASE("what a dead export left is taken over; a living one's is not") {
  const Folder folder;
  const std::string path = folder / "claims";
  write_file(path + ".part", "half of something longer");
  CHECK(refusal(path, "whole") == "written");
  CHECK(content(path) == "whole");

  std::optional<ExportFile> first;
  first.emplace(path);
  first->buffer() = "first";
  CHECK(refusal(path) == path + " cannot be written: another export is writing it");
  first->commit();
  CHECK(content(path) == "first");
  CHECK(files_in(folder) == 1);
  CHECK(refusal(path) == "written");
}

TEST_CASE("what cannot be written is unavailable, with path and reason") {
  const Folder folder;
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
  CHECK(refusal("/dev/full", "x") == "/dev/full cannot be written: No space left on device");
  CHECK(refusal("/dev/full", std::string(2 * ExportFile::piece, 'x')) ==
        "/dev/full cannot be written: No space left on device");
  CHECK(fs::is_character_file("/dev/full"));
  CHECK_FALSE(fs::exists("/dev/full.part"));
  CHECK(refusal("/dev/null", "x") == "written");
  CHECK(fs::is_character_file("/dev/null"));
}

}  // namespace
}  // namespace comptroller::load
