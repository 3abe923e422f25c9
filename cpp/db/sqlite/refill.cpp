#include "db/refill.hpp"

#include <memory>
#include <utility>

#include "db/sqlite/connection.hpp"

namespace comptroller::db::sqlite {

namespace {

// Makes the indexes and triggers after the rows, from their definitions.
class SqliteRefill final : public Refill {
 public:
  SqliteRefill(SqliteConnection& connection, const std::vector<StoredTable>& tables)
      : connection_(connection) {
    constexpr const char* made =
        " FROM sqlite_schema WHERE type IN ('index', 'trigger') AND sql <> ''";
    definitions_ = texts(connection.query(std::string("SELECT sql") + made));
    const std::vector<std::string> drops =
        texts(connection.query(std::string("SELECT 'DROP ' || type || ' ' || name") + made));
    for (const std::string& drop : drops) connection.execute(drop);
    for (const StoredTable& table : tables) connection.execute("DELETE FROM " + table.name);
  }

  void add(const StoredTable& table, const BindNext& bind_next) override {
    Query row = connection_.query(table.insert());
    while (bind_next(row)) row.run();
  }

  // A table whose keys are not counted gives the key after the largest one.
  void finish(const std::map<std::string, std::int64_t>& last_keys) override {
    for (const auto& [table, key] : last_keys) {
      const std::string_view name = table;
      connection_.run("DELETE FROM sqlite_sequence WHERE name = ?", name);
      connection_.run(
          "INSERT INTO sqlite_sequence (name, seq) SELECT name, ? FROM sqlite_schema"
          " WHERE name = ? AND sql LIKE '%AUTOINCREMENT%'",
          key, name);
    }
    for (const std::string& definition : definitions_) connection_.execute(definition);
  }

 private:
  SqliteConnection& connection_;
  std::vector<std::string> definitions_;
};

}  // namespace

std::vector<StoredTable> SqliteConnection::stored_tables() {
  std::vector<StoredTable> tables;
  for (std::string& name : texts(query("SELECT name FROM sqlite_schema WHERE type = 'table'"
                                       " AND name NOT LIKE 'sqlite_%' ORDER BY name"))) {
    const auto columns = [&](const char* selection) {
      Query rows = query(std::string("SELECT name FROM pragma_table_info(?) ") + selection);
      rows.bind(1, std::string_view(name));
      return texts(std::move(rows));
    };
    auto all = columns("ORDER BY name");
    auto key = columns("WHERE pk > 0 ORDER BY pk");
    tables.push_back({std::move(name), std::move(all), std::move(key)});
  }
  return tables;
}

std::unique_ptr<Refill> SqliteConnection::refill(const std::vector<StoredTable>& tables) {
  return std::make_unique<SqliteRefill>(*this, tables);
}

}  // namespace comptroller::db::sqlite
