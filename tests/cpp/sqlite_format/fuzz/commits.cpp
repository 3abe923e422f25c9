// Commits, rollbacks, checkpoints and changes of the schema in any order: scans and lookups give
// the rows of SQL, also in snapshots that are held meanwhile.
#include <list>

#include "sqlite_format/rows.hpp"

namespace {

using namespace sqlite_format;

constexpr std::size_t max_steps = 40;
constexpr std::size_t max_held = 2;

struct Held {
  explicit Held(const std::string& path) : reader(path), rows(reader.by_sql()) {}
  Reader reader;
  Rows rows;
};

struct File {
  explicit File(int page_size) : path(folder / "things.db"), writer(path) {
    make_things(writer, page_size);
    // As the writer of a store does where it uses savepoints: see InMemory there.
    writer.execute("PRAGMA cache_spill = OFF");
  }

  void step(unsigned kind, std::uint64_t seed) {
    Random random(seed);
    const std::string some = " WHERE key % " + std::to_string(1 + seed % 5) + " = 0";
    const std::string change = "UPDATE things SET b = " + any_value(random, 9000) + some + ";" +
                               "DELETE FROM things" + some + " AND number > 50;";
    switch (kind % 13) {
      case 0:
        return writer.execute("BEGIN; " + change + " ROLLBACK");
      case 1:
        return writer.execute("BEGIN; SAVEPOINT a; " + change + " ROLLBACK TO a; COMMIT");
      case 2:
        return writer.execute("PRAGMA wal_checkpoint(PASSIVE)");
      case 3:
        return writer.execute("PRAGMA wal_checkpoint(TRUNCATE)");
      case 4:
        return writer.execute("VACUUM");
      case 5:
        if (columns < 3) {
          writer.execute("ALTER TABLE things ADD COLUMN c" + std::to_string(columns++));
        }
        return;
      case 6:
        return writer.execute("DROP INDEX IF EXISTS by_b; CREATE INDEX by_b ON things (b, number)");
      case 7:
        if (held.size() < max_held) held.emplace_back(path);
        return;
      case 8:
        if (!held.empty()) held.pop_front();
        return;
      case 9:
        return writer.execute("DELETE FROM things" + (seed % 4 == 0 ? "" : some));
      case 10:
        return writer.execute(change);
      default:
        return add_rows(random, 1 + static_cast<int>(seed % 60));
    }
  }

  void compare() {
    Reader reader(path);
    require(reader.is_supported(), "a file that is not supported");
    const Rows rows = reader.by_sql();
    require(reader.by_scan() == rows, "a scan gives other rows");
    require(reader.by_lookup() == rows, "lookups give other rows");
    for (Held& each : held) {
      if (!each.reader.is_supported()) continue;
      require(each.reader.by_scan() == each.rows, "a scan of a snapshot gives other rows");
      require(each.reader.by_lookup() == each.rows, "lookups in a snapshot give other rows");
    }
  }

 private:
  void add_rows(Random& random, int count) const {
    writer.execute("BEGIN");
    for (int row = 0; row < count; ++row) {
      const std::string key =
          random() % 4 == 0 ? std::to_string(static_cast<std::int64_t>(random()))
                            : "(SELECT coalesce(max(key), 0) + 1 FROM things WHERE key < 9999)";
      writer.execute("INSERT INTO things (key, number, a, b) VALUES (" + key + ", " +
                     std::to_string(random() % 100) + ", " + any_value(random, 20'000) + ", " +
                     any_value(random, 200) + ") ON CONFLICT DO NOTHING");
    }
    writer.execute("COMMIT");
  }

  Folder folder;
  std::string path;
  Connection writer;
  std::list<Held> held;
  int columns = 0;
};

}  // namespace

// The input: the page size, then steps of two bytes.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  File file(512 << data[0] % 8);
  for (std::size_t at = 1; at + 1 < size && at < 2 * max_steps; at += 2) {
    file.step(data[at], data[at + 1]);
    file.compare();
  }
  return 0;
}
