// Tables that a builder writes are equal to those that INSERT writes.
#include <algorithm>
#include <array>
#include <cstring>

#include "sqlite_format/rows.hpp"

namespace {

using namespace sqlite_format;

constexpr std::size_t max_rows = 400;
constexpr const char* schema =
    "CREATE TABLE things (key INTEGER PRIMARY KEY, id ANY NOT NULL UNIQUE, number INTEGER,"
    " text TEXT) STRICT;"
    "CREATE INDEX by_number ON things (number, text);"
    "CREATE INDEX with_text ON things (text) WHERE text IS NOT NULL";

struct Row {
  std::string id;
  bool is_blob = false;
  std::optional<std::int64_t> number;
  std::optional<std::string> text;

  std::array<Value, 4> values() const {
    return {Value{}, is_blob ? Value::blob(id) : Value::of(std::string_view(id)),
            number ? Value::of(*number) : Value{},
            text ? Value::of(std::string_view(*text)) : Value{}};
  }
};

std::string literal(std::string_view bytes, const char* type) {
  constexpr const char* digits = "0123456789abcdef";
  std::string sql = "CAST(x'";
  for (const char each : bytes) {
    sql += digits[static_cast<unsigned char>(each) >> 4U];
    sql += digits[static_cast<unsigned char>(each) & 15U];
  }
  return sql + "' AS " + type + ")";
}

// Rows of the input: flags, the sizes of id and text, a number, and their bytes.
std::vector<Row> rows_of(std::string_view input) {
  std::vector<Row> rows;
  while (input.size() >= 4 && rows.size() < max_rows) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(input[at]); };
    const unsigned flags = byte(0);
    const std::size_t id_size = byte(1) % 24;
    const std::size_t text_size = byte(2);
    const auto take = [&](std::size_t size) {
      const std::string taken(input.substr(0, size));
      input.remove_prefix(taken.size());
      return taken;
    };
    Row row;
    row.is_blob = (flags & 1U) != 0;
    if ((flags & 2U) != 0) {
      row.number = static_cast<std::int64_t>(std::uint64_t{byte(3)} << ((flags >> 4U) * 4U));
    }
    const bool has_text = (flags & 4U) != 0;
    const bool is_long = (flags & 8U) != 0;
    input.remove_prefix(4);
    row.id = take(id_size);
    if (has_text) {
      const std::string text = take(text_size % 32);
      row.text = is_long ? std::string(text_size * 50, 'x') + text : text;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

void insert(const Connection& connection, const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    connection.execute("INSERT OR IGNORE INTO things (id, number, text) VALUES (" +
                       literal(row.id, row.is_blob ? "BLOB" : "TEXT") + ", " +
                       (row.number ? std::to_string(*row.number) : "NULL") + ", " +
                       (row.text ? literal(*row.text, "TEXT") : "NULL") + ")");
  }
}

// All rows in order of key, and in the order of each index.
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Folder folder;
  const std::string path = folder / "built.db";
  const Connection built(path);
  built.execute(schema);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  require(prepare_to_build(descriptor), "a file that no builder fills");
  const auto builder = Builder::make(built.handle(), "things", [&] { return folder.make_file(); });
  require(builder != nullptr, "a table that no builder fills");
  std::vector<Row> taken;
  std::vector<Row> refused;
  for (Row& row : rows_of({reinterpret_cast<const char*>(data), size})) {
    (builder->add(row.values()) ? taken : refused).push_back(std::move(row));
  }
  builder->write(descriptor, [] {});
  builder->verify(built.handle());
  ::close(descriptor);
  const Connection inserted(folder / "inserted.db");
  inserted.execute(schema);
  inserted.execute("BEGIN");
  insert(inserted, taken);
  require(inserted.number("SELECT count(*) FROM things") == static_cast<std::int64_t>(taken.size()),
          "takes a row that INSERT refuses");
  insert(inserted, refused);
  inserted.execute("COMMIT");
  const Connection again(path);
  insert(again, refused);
  require(again.text("PRAGMA integrity_check") == "ok", "a table that is not sound");
  require(content(again) == content(inserted), "a table that differs from the inserted one");
  return 0;
}
