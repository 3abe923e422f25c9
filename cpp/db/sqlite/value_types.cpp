#include "db/sqlite/value_types.hpp"

#include <utility>

namespace comptroller::db::sqlite {

namespace {

struct Column {
  std::string name;
  std::string type;
  bool is_required = false;
};

std::string quoted(std::string_view name) {
  std::string text(1, '"');
  for (const char character : name) text.append(character == '"' ? 2 : 1, character);
  return text + '"';
}

// Returns the condition that a value is not of the type of its column.
std::string is_wrong(const Column& column) {
  std::string types;
  for (const auto& [type, allowed] :
       {std::pair("INT", "'integer'"), std::pair("INTEGER", "'integer'"),
        std::pair("TEXT", "'text'"), std::pair("BLOB", "'blob'"), std::pair("REAL", "'real'"),
        std::pair("ANY", "'text', 'blob'")}) {
    if (column.type == type) types = allowed;
  }
  if (!column.is_required) types += ", 'null'";
  return "typeof(" + quoted(column.name) + ") NOT IN (" + types + ")";
}

std::vector<Column> columns_of(SqliteConnection& connection, std::string_view table) {
  std::vector<Column> columns;
  Query query = connection.query("SELECT name, type, \"notnull\" FROM pragma_table_info(?)");
  query.bind(1, table);
  while (query.step()) {
    columns.push_back({std::string(query.column(0).bytes), std::string(query.column(1).bytes),
                       query.number(2) != 0});
  }
  return columns;
}

void check_table(SqliteConnection& connection, const std::string& table, bool has_keys,
                 std::vector<std::string>& findings) {
  const std::vector<Column> columns = columns_of(connection, table);
  std::string sql;
  for (const Column& column : columns) {
    const std::string filter = " FILTER (WHERE " + is_wrong(column) + ")";
    sql.append(sql.empty() ? "SELECT " : ", ").append("count(*)").append(filter);
    sql.append(has_keys ? ", min(rowid)" + filter : ", NULL");
  }
  Query counts = connection.query(sql + " FROM " + quoted(table));
  counts.step();
  for (int i = 0; std::cmp_less(i, columns.size()); ++i) {
    const std::int64_t wrong = counts.number(2 * i);
    if (wrong == 0) continue;
    const auto& [name, type, is_required] = columns[static_cast<std::size_t>(i)];
    std::string finding = table;
    finding.append(".").append(name).append(": ").append(std::to_string(wrong));
    finding += wrong == 1 ? " value is not " : " values are not ";
    finding += type == "ANY" ? "TEXT or BLOB" : type;
    if (!is_required) finding += " or NULL";
    if (has_keys) finding += ", first of key " + std::to_string(counts.number(2 * i + 1));
    findings.push_back(std::move(finding));
  }
}

}  // namespace

std::vector<std::string> find_wrong_types(SqliteConnection& connection) {
  std::vector<std::pair<std::string, bool>> tables;
  {
    Query query = connection.query(
        "SELECT name, NOT wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table'"
        " AND strict ORDER BY name");
    while (query.step()) tables.emplace_back(query.column(0).bytes, query.number(1) != 0);
  }
  std::vector<std::string> findings;
  for (const auto& [table, has_keys] : tables) check_table(connection, table, has_keys, findings);
  return findings;
}

}  // namespace comptroller::db::sqlite
