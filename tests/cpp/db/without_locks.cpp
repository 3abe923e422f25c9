// A user who may not write to the folder of a store cannot lock it, and reads one state or nothing.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "db/folder.hpp"
#include "db/sqlite/database.hpp"
#include "model/error.hpp"

namespace comptroller::db {
namespace {

constexpr int rows = 3000;
constexpr ::uid_t nobody = 65534;

// Stores a generation in every row.
void write(const std::string& path, const std::string& generation) {
  const auto database = sqlite::open(path, {});
  const std::string text = generation + std::string(2000, ' ');
  database->write([&](Connection& connection) {
    for (int row = 0; row < rows; ++row) {
      connection.run("INSERT OR REPLACE INTO secrets (name, value) VALUES (?, ?)",
                     std::to_string(1'000'000 + row), Value::blob(text));
    }
  });
}  // the last connection to close writes the log to the file and removes it

Query select(Connection& connection) {
  return connection.query("SELECT value FROM secrets ORDER BY name");
}

std::string generation_of(Query& query) {
  return std::string(query.column(0).bytes.substr(0, 1));
}

// Returns the generations of the rows; an error is the last of them.
std::set<std::string> rest(Query& query) {
  std::set<std::string> found;
  try {
    while (query.step()) found.insert(generation_of(query));
  } catch (const Error& error) {
    found.insert(std::string(problem(error.code()).code) + ": " + error.detail());
  }
  return found;
}

class Pipe {
 public:
  Pipe() { REQUIRE(::pipe(ends_.data()) == 0); }
  void say(const std::string& text) const {
    const std::string line = text + "\n";
    if (::write(ends_[1], line.data(), line.size()) < 0) ::_exit(1);
  }
  std::string hear() const {
    std::string line;
    for (char next = 0; ::read(ends_[0], &next, 1) == 1 && next != '\n';) line += next;
    return line;
  }

 private:
  std::array<int, 2> ends_{};
};

TEST_CASE("a read that cannot lock the file shows one state, or says that the file was written") {
  if (::getuid() != 0) return;  // only root can act as another user
  const Folder folder;
  std::filesystem::permissions(folder / "", std::filesystem::perms(0755));
  const std::string path = folder / "a.db";
  write(path, "1");
  std::filesystem::permissions(path, std::filesystem::perms(0644));
  const Pipe to_reader;
  const Pipe to_writer;
  const pid_t reader = ::fork();
  if (reader == 0) {
    if (::setuid(nobody) != 0) ::_exit(1);
    try {
      const auto database = sqlite::open(path, {.read_only = true});
      {
        const Lease lease = database->reader();
        const Snapshot snapshot(*lease);
        Query query = select(*lease);
        query.step();
        to_writer.say(generation_of(query));
        to_reader.hear();
        for (const std::string& each : rest(query)) to_writer.say(each);
      }
      to_writer.say("-");
      const Lease lease = database->reader();
      Query query = select(*lease);
      for (const std::string& each : rest(query)) to_writer.say(each);
      to_writer.say("-");
    } catch (const std::exception& error) {
      to_writer.say(error.what());
    }
    ::_exit(0);
  }
  CHECK(to_writer.hear() == "1");
  write(path, "2");
  to_reader.say("written");
  std::set<std::string> first;
  for (std::string each; (each = to_writer.hear()) != "-";) first.insert(each);
  CHECK(first.size() == 1);
  CHECK(first.begin()->starts_with("unavailable: the store was written during the read"));
  CHECK(to_writer.hear() == "2");
  CHECK(to_writer.hear() == "-");
  int status = 0;
  CHECK(::waitpid(reader, &status, 0) == reader);
  CHECK(status == 0);
}

}  // namespace
}  // namespace comptroller::db
