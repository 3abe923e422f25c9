#include <string>

#include "db/sqlite/connection.hpp"

namespace comptroller::db::sqlite {

namespace {

std::string name_of(const ReadableView& view) {
  return "readable_" + std::string(view.table);
}

std::string uuid_expression(const std::string& column) {
  const std::string digits = "lower(hex(" + column + "))";
  return "CASE typeof(" + column + ") WHEN 'blob' THEN substr(" + digits +
         ", 1, 8) || '-' || substr(" + digits + ", 9, 4) || '-' || substr(" + digits +
         ", 13, 4) || '-' || substr(" + digits + ", 17, 4) || '-' || substr(" + digits +
         ", 21) ELSE " + column + " END";
}

std::string time_expression(const std::string& column) {
  // Division rounds towards zero, so the fraction of times before 1970 is made positive first.
  const std::string fraction = "((" + column + " % 1000000 + 1000000) % 1000000)";
  return "strftime('%Y-%m-%dT%H:%M:%S', (" + column + " - " + fraction +
         ") / 1000000, 'unixepoch') || printf('.%06dZ', " + fraction + ")";
}

std::string addresses_expression(const std::string& column) {
  return "CASE typeof(" + column +
         ") WHEN 'blob' THEN (WITH RECURSIVE place(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM "
         "place"
         " WHERE n < length(" +
         column +
         ") / 20 - 1) SELECT json_group_array('0x' ||"
         " lower(hex(substr(" +
         column + ", n * 20 + 1, 20)))) FROM place WHERE length(" + column + ") > 0) ELSE " +
         column + " END";
}

std::string code_expression(const std::string& column, std::span<const std::string_view> words) {
  std::string expression = "CASE " + column;
  for (std::size_t code = 0; code < words.size(); ++code) {
    expression += " WHEN " + std::to_string(code) + " THEN '";
    expression.append(words[code]).append("'");
  }
  return expression + " END";
}

std::string expression_of(const ReadableColumn& shown) {
  std::string column = "t." + std::string(shown.name);
  switch (shown.storage) {
    case StorageClass::symbol:
      return "(SELECT text FROM symbols WHERE symbols.key = " + column + ")";
    case StorageClass::identifier:
      return uuid_expression(column);
    case StorageClass::hash:
      return "CASE typeof(" + column + ") WHEN 'blob' THEN '0x' || lower(hex(" + column +
             ")) ELSE " + column + " END";
    case StorageClass::timestamp:
      return time_expression(column);
    case StorageClass::addresses:
      return addresses_expression(column);
    case StorageClass::code:
      return code_expression(column, shown.words);
    case StorageClass::text:
    case StorageClass::amount:
    case StorageClass::boolean:
    case StorageClass::document:
      break;
  }
  return column;
}

std::string sql_of(const ReadableView& view) {
  std::string columns;
  for (const ReadableColumn& column : view.columns) {
    if (!columns.empty()) columns += ", ";
    columns.append(expression_of(column)).append(" AS ").append(column.name);
  }
  return "CREATE VIEW " + name_of(view) + " AS SELECT " + columns + " FROM " +
         std::string(view.table) + " AS t";
}

}  // namespace

bool SqliteConnection::has_readable_views(std::span<const ReadableView> views) {
  for (const ReadableView& view : views) {
    const std::string name = name_of(view);
    Query row = query("SELECT sql FROM sqlite_schema WHERE name = ?1");
    row.bind(1, Value::of(std::string_view(name)));
    if (!row.step() || row.column(0).bytes != sql_of(view)) return false;
  }
  return true;
}

void SqliteConnection::make_readable_views(std::span<const ReadableView> views) {
  for (const ReadableView& view : views) {
    execute("DROP VIEW IF EXISTS " + name_of(view));
    execute(sql_of(view));
  }
}

}  // namespace comptroller::db::sqlite
