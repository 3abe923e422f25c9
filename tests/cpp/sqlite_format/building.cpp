// Builders write the tables and indexes that INSERT writes, or decline.
#include <doctest/doctest.h>

#include "sqlite_format/rows.hpp"

namespace sqlite_format {
namespace {

constexpr const char* schema =
    "CREATE TABLE things (key INTEGER PRIMARY KEY, id ANY NOT NULL UNIQUE, number INTEGER, text "
    "TEXT)"
    " STRICT;"
    "CREATE INDEX by_number ON things (number, text);"
    "CREATE INDEX with_text ON things (text) WHERE text IS NOT NULL";

struct Row {
  std::string id;
  bool is_blob = false;
  std::int64_t number = 0;
  std::optional<std::string> text;

  std::vector<Value> values() const {
    return {Value{}, is_blob ? Value::blob(id) : Value::of(std::string_view(id)), Value::of(number),
            text ? Value::of(std::string_view(*text)) : Value{}};
  }
};

std::vector<Row> any_rows(std::size_t count) {
  Random random(count);
  std::vector<Row> rows(count);
  for (std::size_t i = 0; i < count; ++i) {
    rows[i] = {"id " + std::to_string(random()), random() % 2 == 0,
               static_cast<std::int64_t>(random()) >> random() % 64, std::nullopt};
    if (random() % 3 > 0) rows[i].text = std::string(random() % (i % 100 == 0 ? 9000 : 30), 'x');
  }
  return rows;
}

// A file without a WAL that a builder can fill, with its descriptor.
struct File {
  explicit File(const Folder& folder, const char* sql = schema) : path(folder / "built.db") {
    const Connection made(path);
    made.execute(sql);
    descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  }
  ~File() { ::close(descriptor); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  std::string path;
  int descriptor = -1;
};

// Returns all rows in order of key, and in the order of each index.
Rows content(const Connection& connection) {
  Rows rows;
  for (const char* order :
       {" NOT INDEXED ORDER BY key", " INDEXED BY by_number ORDER BY number, text, key",
        " INDEXED BY with_text WHERE text IS NOT NULL ORDER BY text, key"}) {
    Sql query(connection.handle(), "SELECT * FROM things" + std::string(order));
    while (query.step()) {
      std::string& row = rows.emplace_back();
      for (int column = 0; column < query.columns(); ++column) row += text_of(query.value(column));
    }
  }
  return rows;
}

void insert(const Connection& connection, const std::vector<Row>& rows) {
  connection.execute("BEGIN");
  for (const Row& row : rows) {
    const std::string id = "CAST('" + row.id + "' AS " + (row.is_blob ? "BLOB" : "TEXT") + ")";
    connection.execute("INSERT INTO things (id, number, text) VALUES (" + id + ", " +
                       std::to_string(row.number) + ", " +
                       (row.text ? "'" + *row.text + "'" : "NULL") + ")");
  }
  connection.execute("COMMIT");
}

TEST_CASE("a built table is equal to an inserted one, and SQLite finds it sound") {
  for (const std::size_t count : {0U, 1U, 70U, 5000U}) {
    CAPTURE(count);
    const Folder folder;
    const File file(folder);
    const std::vector<Row> rows = any_rows(count);
    REQUIRE(prepare_to_build(file.descriptor));
    const Connection connection(file.path);
    const auto builder =
        Builder::make(connection.handle(), "things", [&] { return folder.make_file(); });
    REQUIRE(builder);
    for (const Row& row : rows) CHECK(builder->add(row.values()));
    int checks = 0;
    builder->write(file.descriptor, [&] { ++checks; });
    builder->verify(connection.handle());
    CHECK(connection.text("PRAGMA integrity_check") == "ok");
    const Connection inserted(folder / "inserted.db");
    inserted.execute(schema);
    insert(inserted, rows);
    CHECK(content(connection) == content(inserted));
    CHECK(connection.number("PRAGMA schema_version") == inserted.number("PRAGMA schema_version"));
    // SQLite can change it.
    connection.execute("DELETE FROM things WHERE key % 3 = 0; UPDATE things SET number = -number");
    CHECK(connection.text("PRAGMA integrity_check") == "ok");
  }
}

TEST_CASE("rows that only SQLite can take are not taken") {
  const Folder folder;
  const File file(folder);
  const Connection connection(file.path);
  const auto builder =
      Builder::make(connection.handle(), "things", [&] { return folder.make_file(); });
  REQUIRE(builder);
  const Value id = Value::of(std::string_view("a"));
  const Value number = Value::of(std::int64_t{1});
  CHECK(builder->add(std::vector{Value{}, id, number, Value{}}));
  for (const auto& row : std::initializer_list<std::vector<Value>>{
           {Value{}, id, number, Value{}},       // a duplicate
           {Value{}, Value{}, number, Value{}},  // NOT NULL
           {Value{}, number, number, Value{}},   // an integer is compared by SQLite
           {number, Value::of(std::string_view("b")), number, Value{}},  // a key
           {Value{}, Value::of(std::string_view("b")), id, Value{}},     // a text in a number
           {Value{}, Value::of(std::string_view("b")), number, number}}) {
    CHECK_FALSE(builder->add(row));
  }
}

TEST_CASE("a builder takes the rows of another copy, unless the tables differ") {
  const Folder folder;
  const File file(folder);
  const auto make_file = [&] { return folder.make_file(); };
  const Connection connection(file.path);
  const Connection earlier(folder / "earlier.db");
  const std::vector<Row> rows = any_rows(300);
  for (const bool differs : {true, false}) {
    earlier.execute("DROP TABLE IF EXISTS things");
    earlier.execute(schema);
    if (differs) earlier.execute("CREATE INDEX more ON things (number)");
    const auto before = Builder::make(earlier.handle(), "things", make_file);
    const auto builder = Builder::make(connection.handle(), "things", make_file);
    for (const Row& row : rows) before->add(row.values());
    CHECK(builder->take_rows(*before) != differs);
    if (differs) continue;
    builder->write(file.descriptor, [] {});
    builder->verify(connection.handle());
    CHECK(connection.number("SELECT count(*) FROM things") == 300);
  }
}

TEST_CASE("verify finds rows and entries that are missing or out of order") {
  for (const char* damage : {"DELETE FROM things WHERE key = 100",  // fewer rows than were added
                             "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage ="
                             " (SELECT rootpage FROM sqlite_schema WHERE name = 'with_text') WHERE "
                             "name = 'by_number'"}) {
    CAPTURE(damage);
    const Folder folder;
    const File file(folder);
    const Connection connection(file.path);
    const auto builder =
        Builder::make(connection.handle(), "things", [&] { return folder.make_file(); });
    for (const Row& row : any_rows(300)) builder->add(row.values());
    builder->write(file.descriptor, [] {});
    {
      const Connection other(file.path);
      sqlite3_db_config(other.handle(), SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr);
      other.execute(damage);
    }
    const Connection damaged(file.path);
    CHECK_THROWS_AS(builder->verify(damaged.handle()), Failure);
  }
}

TEST_CASE("tables and files that only SQLite can fill are declined") {
  for (const char* sql :
       {"CREATE TABLE things (key INTEGER PRIMARY KEY, id UNIQUE); INSERT INTO things VALUES (1, "
        "2)",
        "CREATE TABLE things (key INTEGER PRIMARY KEY, id)",
        "CREATE TABLE things (key INTEGER PRIMARY KEY, id UNIQUE, a CHECK (a > 0))",
        "CREATE TABLE things (key INTEGER PRIMARY KEY AUTOINCREMENT, id UNIQUE)",
        "CREATE TABLE things (key INTEGER PRIMARY KEY, id UNIQUE, a DEFAULT 1)",
        "CREATE TABLE things (key INTEGER PRIMARY KEY, id UNIQUE, a REAL)",
        "CREATE TABLE things (id PRIMARY KEY) WITHOUT ROWID",
        "CREATE TABLE things (key INTEGER PRIMARY KEY, id UNIQUE, a); CREATE INDEX i ON things (a "
        "+ 1)",
        "CREATE TABLE things (key INTEGER PRIMARY KEY, id UNIQUE, a); CREATE INDEX i ON things (a "
        "DESC)",
        "CREATE TABLE things (key INTEGER PRIMARY KEY, id UNIQUE, a);"
        " CREATE INDEX i ON things (a) WHERE a > 1",
        "CREATE TABLE things (key INTEGER PRIMARY KEY, id UNIQUE, a COLLATE NOCASE);"
        " CREATE INDEX i ON things (a)",
        "CREATE TABLE things (key INTEGER PRIMARY KEY, id UNIQUE);"
        " CREATE TRIGGER t AFTER INSERT ON things BEGIN SELECT 1; END"}) {
    CAPTURE(sql);
    const Folder folder;
    const File file(folder, sql);
    const Connection connection(file.path);
    CHECK_FALSE(Builder::make(connection.handle(), "things", [&] { return folder.make_file(); }));
  }
  for (const char* pragma : {"page_size = 8192", "encoding = 'UTF-16'", "auto_vacuum = 1"}) {
    CAPTURE(pragma);
    const Folder folder;
    const File file(folder, ("PRAGMA " + std::string(pragma) + "; CREATE TABLE t (a)").c_str());
    CHECK_FALSE(prepare_to_build(file.descriptor));
  }
}

}  // namespace
}  // namespace sqlite_format
