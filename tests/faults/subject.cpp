#include "subject.hpp"

#include <filesystem>

#include "db/sqlite/connection.hpp"
#include "db/sqlite/migrations.hpp"
#include "db/sqlite/schema.hpp"
#include "sample/generator.hpp"

namespace comptroller::faults {

namespace {

constexpr std::uint64_t claims_of_sample = 40;

// The folder of an original: a closed store, unless `make` leaves it open.
class Original {
 public:
  explicit Original(const std::function<void(Subject&)>& make) { make(subject_); }
  const std::string& folder() { return subject_.folder(); }

 private:
  Subject subject_;
};

void load_sample(Subject& subject, const std::string& kind) {
  Lines lines(sample_lines(kind, sample::rows_for(kind, claims_of_sample)));
  REQUIRE(subject.load(kind, lines).rejected == 0);
}

void fill(Subject& subject, bool has_claims = true) {
  subject.open();
  for (const char* kind : {"identities", "controls", "payout-groups", "reward-addresses"}) {
    load_sample(subject, kind);
  }
  if (has_claims) {
    for (const char* kind : {"claims", "orchestrations", "balances"}) load_sample(subject, kind);
  }
  subject.store().put_identity("known", "acme");
  subject.store().create_control(subject.store().acme, "known", "CLOSED");
  subject.store().answer(subject.store().acme, "controls.create", {}, dormant_control, "key");
}

}  // namespace

Subject::Subject(const std::string& original) : is_copy_(true) {
  std::filesystem::copy(original, folder_.path(), std::filesystem::copy_options::recursive);
}

void Subject::open() {
  fixture_ = std::make_unique<service::ServiceFixture>(db::sqlite::open(path(), {}));
  constexpr int ids_of_original = 100;  // at most
  for (int used = 0; is_copy_ && used < ids_of_original; ++used) service().environment().make_id();
}

std::string Subject::files() const {
  std::string files;
  for (const std::string& name : folder_.names()) {
    if (name.ends_with("-shm")) continue;  // without a log, it has no content
    files += name;
    if (!name.starts_with("store.db")) {
      const std::string path = file(name);
      files += ' ' + std::to_string(std::hash<std::string>()(db::read_file(path))) + ' ' +
               std::to_string(static_cast<unsigned>(std::filesystem::status(path).permissions()));
    }
    files += '\n';
  }
  return files;
}

std::string sample_lines(const std::string& kind, std::uint64_t rows, std::size_t width) {
  sample::Generator generator({kind, rows, 0, ""});
  std::string text;
  std::array<char, 65536> bytes{};
  while (const std::size_t count = generator.read(bytes.data(), bytes.size())) {
    text.append(bytes.data(), count);
  }
  if (width == 0) return text;
  std::string wide;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    wide.append(text, begin, end - begin).append(width - (end - begin), ' ') += '\n';
    begin = end + 1;
  }
  return wide;
}

namespace {

// Returns a query of the rows of a table, with the texts of symbols instead of their keys: a load
// that is repeated in another way gives other keys to new symbols.
std::string query_of(db::Connection& connection, const std::string& table) {
  if (table == "symbols") return "SELECT NULL, text FROM symbols ORDER BY text";
  db::Query columns = connection.query(
      "WITH known AS (SELECT name, name IN (SELECT \"from\" FROM pragma_foreign_key_list($table)"
      " WHERE \"table\" = 'symbols') OR coalesce(instr((SELECT sql FROM sqlite_schema"
      " WHERE name = 'readable_' || $table), 'symbols.key = t.' || name || ')'), 0) AS is_symbol"
      " FROM pragma_table_info($table)) SELECT group_concat(iif(is_symbol,"
      " '(SELECT text FROM symbols WHERE symbols.key = t.' || name || ')', name)) FROM known");
  columns.bind("$table", table).step();
  const std::string rows = std::string(columns.column(0).bytes) + " FROM " + table + " AS t";
  return "SELECT " + rows + (table == "customers" ? " ORDER BY 1" : "");
}

}  // namespace

Digest digest_of(const std::string& path) {
  db::sqlite::SqliteConnection connection(path, SQLITE_OPEN_READWRITE);
  connection.keep_log();
  const db::Snapshot snapshot(connection);
  std::vector<std::string> tables;
  {
    db::Query names = connection.query("SELECT name FROM sqlite_schema WHERE type = 'table'");
    while (names.step()) tables.emplace_back(names.column(0).bytes);
  }
  Digest digest;
  journal::Sha256 hash;
  for (const std::string& table : tables) {
    db::Query columns = connection.query("SELECT count(*) FROM pragma_table_info(?)");
    columns.bind(1, table).step();
    const auto width = static_cast<int>(columns.number(0));
    db::Query rows = connection.query(query_of(connection, table));
    while (rows.step()) {
      for (int column = 0; column < width; ++column) {
        const db::Value& value = rows.column(column);
        hash.update(std::to_string(value.integer) + ' ' + std::to_string(value.bytes.size()) + ' ');
        hash.update(value.bytes);
      }
    }
    digest[table] = hash.finish();
  }
  return digest;
}

std::string difference(const Digest& left, const Digest& right) {
  std::string names;
  for (const auto& [table, hash] : left) {
    const auto found = right.find(table);
    if (found == right.end() || found->second != hash) names += table + ' ';
  }
  return left.size() == right.size() ? names : names + "(other tables)";
}

const std::string& small_store() {
  static Original original([](Subject& subject) {
    fill(subject);
    subject.close();
  });
  return original.folder();
}

const std::string& store_without_claims() {
  static Original original([](Subject& subject) {
    fill(subject, false);
    subject.close();
  });
  return original.folder();
}

const std::string& store_of_first_version() {
  static Original original([](Subject& subject) {
    db::sqlite::SqliteConnection connection(subject.path(),
                                            SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    connection.execute("PRAGMA journal_mode = WAL");
    connection.execute(std::string(db::sqlite::migrations().front().sql));
    connection.execute(
        "INSERT INTO symbols (key, text) VALUES (1, 'default'), (2, 'CLAIM_ALL'), (4, 'DE'),"
        "  (5, '00000000-0000-4000-8000-000000000001');"
        "INSERT INTO customers VALUES (1);"
        "INSERT INTO identities (key, id, customer_id, created_at, updated_at, implied)"
        "  VALUES (1, 'own', 1, 5, 9, 0);"
        "INSERT INTO controls (id, type, set_by, is_overridable, created_at, deleted_at,"
        "  identity_id, customer_id, identity_key, identity_created_at) VALUES"
        "  ('a', 1, 0, 1, 5, 50, 'own', 1, 1, 5), ('b', 1, 0, 1, 6, 7, 'own', 1, 1, 5);"
        "INSERT INTO payout_groups (id, ledger, jurisdiction, created_at, updated_at, customer_id)"
        "  VALUES (5, 0, 4, 1, 1, 1);"
        "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers LIMIT 300)"
        " INSERT INTO claims (id, payout_group_id, claim_type, onchain_status, amount, created_at,"
        "  updated_at, customer_id, jurisdiction) SELECT 'c' || n, 5, 2, 1, '1.50', n, n, 1, 4 "
        "FROM numbers");
    connection.execute("PRAGMA application_id = " + std::to_string(db::sqlite::application_id) +
                       "; PRAGMA user_version = 1");
  });
  return original.folder();
}

const std::string& store_with_large_log() {
  static Original original([](Subject& subject) {
    fill(subject);
    subject.close();
    // Stays open, so that the log is not copied into the file. Each commit writes one frame.
    static db::sqlite::SqliteConnection killed(subject.path(), SQLITE_OPEN_READWRITE);
    killed.execute("PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 0");
    constexpr int commits = 3'995;
    for (int commit = 0; commit < commits; ++commit) {
      killed.execute("UPDATE secrets SET value = value");
    }
  });
  return original.folder();
}

const std::string& store_with_large_group() {
  static Original original([](Subject& subject) {
    subject.open();
    const std::string group = subject.store().create_group(subject.store().acme);
    std::string lines;
    for (int number = 0; number < claims_of_large_group; ++number) {
      lines += R"({"id":"c)" + std::to_string(number) + R"(","payout_group_id":")" + group +
               R"(","claim_type":"CLAIM_ALL","amount":"1.50","onchain_status":"PENDING",)" +
               R"("created_at":"2026-01-31T12:00:00Z","customer_id":"acme"})" + "\n";
    }
    Lines input(lines);
    REQUIRE(subject.load("claims", input).rejected == 0);
    subject.close();
  });
  return original.folder();
}

}  // namespace comptroller::faults
