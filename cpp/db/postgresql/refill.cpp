#include "db/refill.hpp"

#include <memory>
#include <utility>

#include "db/postgresql/connection.hpp"
#include "db/postgresql/copied_rows.hpp"

namespace comptroller::db::postgresql {

namespace {

constexpr std::size_t bytes_at_once = std::size_t{4} << 20U;

// Makes the indexes after the rows, from their definitions.
class PostgresqlRefill final : public Refill {
 public:
  PostgresqlRefill(PostgresqlConnection& connection, const std::vector<StoredTable>& tables)
      : connection_(connection), tables_(tables) {
    for (const StoredTable& table : tables) {
      connection.execute("ALTER TABLE " + table.name + " DISABLE TRIGGER USER");
      connection.execute("DELETE FROM " + table.name);
      // Those of constraints stay.
      constexpr const char* made =
          " FROM pg_index AS i WHERE indrelid = to_regclass(?) AND NOT EXISTS"
          " (SELECT FROM pg_constraint WHERE conindid = i.indexrelid) ORDER BY indexrelid";
      const auto select = [&](const std::string& expression) {
        Query rows = connection.query("SELECT " + expression + made);
        rows.bind(1, std::string_view(table.name));
        return texts(std::move(rows));
      };
      for (std::string& definition : select("pg_get_indexdef(indexrelid)")) {
        definitions_.push_back(std::move(definition));
      }
      for (const std::string& drop : select("'DROP INDEX ' || indexrelid::regclass::text")) {
        connection.execute(drop);
      }
    }
  }

  void add(const StoredTable& table, const BindNext& bind_next) override {
    const std::vector<unsigned> types = connection_.parameter_types(table.insert());
    const std::string copy =
        "COPY " + table.name + " (" + quoted(table.columns) + ") FROM STDIN BINARY";
    for (bool has_more = true; has_more;) {
      CopiedRows rows(types);
      {
        Query row(rows);
        while (rows.bytes() < bytes_at_once && has_more) has_more = bind_next(row);
      }
      if (rows.size() > 0) connection_.copy_in(copy, rows.data());
    }
  }

  void finish(const std::map<std::string, std::int64_t>& last_keys) override {
    for (const std::string& definition : definitions_) connection_.execute(definition);
    for (const auto& [table, key] : last_keys) {
      Query next = connection_.query("SELECT setval(pg_get_serial_sequence(?, 'key'), ?)");
      next.bind(1, std::string_view(table)).bind(2, key).step();
    }
    for (const StoredTable& table : tables_) {
      connection_.execute("ALTER TABLE " + table.name + " ENABLE TRIGGER USER");
      connection_.execute("ANALYZE " + table.name);
    }
  }

 private:
  PostgresqlConnection& connection_;
  std::vector<StoredTable> tables_;
  std::vector<std::string> definitions_;
};

}  // namespace

std::vector<StoredTable> PostgresqlConnection::stored_tables() {
  std::vector<StoredTable> tables;
  // Without the tables that only this driver has.
  for (std::string& name :
       texts(query("SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace ="
                   " (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('store_version'))"
                   " AND relname NOT IN ('store_version', 'journal_pending')"
                   " AND relname NOT LIKE 'journal_writer%'"
                   " ORDER BY relname COLLATE \"C\""))) {
    const auto columns = [&](const std::string& sql) {
      Query rows = query(sql);
      rows.bind(1, std::string_view(name));
      return texts(std::move(rows));
    };
    auto all = columns(
        "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(?) AND attnum > 0"
        " AND NOT attisdropped ORDER BY attname COLLATE \"C\"");
    auto key = columns(
        "SELECT attname FROM pg_index AS i CROSS JOIN LATERAL unnest(i.indkey)"
        " WITH ORDINALITY AS k (number, place) JOIN pg_attribute AS a"
        " ON a.attrelid = i.indrelid AND a.attnum = k.number"
        " WHERE i.indisprimary AND i.indrelid = to_regclass(?) ORDER BY k.place");
    tables.push_back({std::move(name), std::move(all), std::move(key)});
  }
  return tables;
}

std::unique_ptr<Refill> PostgresqlConnection::refill(const std::vector<StoredTable>& tables) {
  return std::make_unique<PostgresqlRefill>(*this, tables);
}

}  // namespace comptroller::db::postgresql
