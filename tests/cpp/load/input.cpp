#include "load/input.hpp"

#include <doctest/doctest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include "load/folder.hpp"
#include "model/error.hpp"

namespace comptroller::load {
namespace {

TEST_CASE("a file is read to its end, and its size is known") {
  const Folder folder;
  const std::string path = folder / "claims.ndjson";
  std::ofstream(path) << "0123456789";
  FileInput input(path);
  CHECK(input.size() == 10);
  std::array<char, 4> bytes{};
  std::string text;
  while (const std::size_t count = input.read(bytes.data(), bytes.size())) {
    text.append(bytes.data(), count);
  }
  CHECK(text == "0123456789");
  CHECK(input.read(bytes.data(), bytes.size()) == 0);
}

TEST_CASE("an empty file has size 0, a device has no size") {
  const Folder folder;
  const std::string path = folder / "empty";
  std::ofstream(path).close();
  std::array<char, 4> bytes{};
  FileInput empty(path);
  CHECK(empty.size() == 0);
  CHECK(empty.read(bytes.data(), bytes.size()) == 0);
  FileInput device("/dev/null");
  CHECK_FALSE(device.size());
  CHECK(device.read(bytes.data(), bytes.size()) == 0);
}

TEST_CASE("a file that cannot be opened is refused with its path and the reason") {
  const Folder folder;
  const auto refusal = [](const std::string& path) -> std::string {
    try {
      const FileInput input(path);
    } catch (const Error& error) {
      CHECK(error.code() == Code::invalid_request);
      return error.detail();
    }
    return "opened";
  };
  const std::string missing = folder / "missing";
  CHECK(refusal(missing) == "source: " + missing + " cannot be read: No such file or directory");
  CHECK(refusal(folder.path()) == "source: " + folder.path() + " cannot be read: Is a directory");
}

}  // namespace
}  // namespace comptroller::load
