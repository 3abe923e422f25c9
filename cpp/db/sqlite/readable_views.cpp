#include <string>
#include <utility>

#include "db/sqlite/connection.hpp"

namespace comptroller::db::sqlite {

namespace {

std::string name_of(const ReadableView& view) {
  return "readable_" + std::string(view.table);
}

// Expressions that show the stored values of a storage class; @ is replaced by the column. Values
// of other classes are shown as stored.
constexpr std::pair<StorageClass, const char*> expressions[]{
    {StorageClass::symbol, "(SELECT text FROM symbols WHERE symbols.key = @)"},
    {StorageClass::identifier,
     "CASE typeof(@) WHEN 'blob' THEN substr(lower(hex(@)), 1, 8) || '-' ||"
     " substr(lower(hex(@)), 9, 4) || '-' || substr(lower(hex(@)), 13, 4) || '-' ||"
     " substr(lower(hex(@)), 17, 4) || '-' || substr(lower(hex(@)), 21) ELSE @ END"},
    {StorageClass::hash, "CASE typeof(@) WHEN 'blob' THEN '0x' || lower(hex(@)) ELSE @ END"},
    // Division rounds towards zero, so the fraction of a time before 1970 is made positive first.
    {StorageClass::timestamp,
     "strftime('%Y-%m-%dT%H:%M:%S', (@ - ((@ % 1000000 + 1000000) % 1000000)) / 1000000,"
     " 'unixepoch') || printf('.%06dZ', ((@ % 1000000 + 1000000) % 1000000))"},
    {StorageClass::addresses,
     "CASE typeof(@) WHEN 'blob' THEN (WITH RECURSIVE place(n) AS (SELECT 0 UNION ALL SELECT n + 1"
     " FROM place WHERE n < length(@) / 20 - 1) SELECT json_group_array('0x' ||"
     " lower(hex(substr(@, n * 20 + 1, 20)))) FROM place WHERE length(@) > 0) ELSE @ END"}};

std::string code_expression(std::span<const std::string_view> texts) {
  std::string expression = "CASE @";
  for (std::size_t code = 0; code < texts.size(); ++code) {
    expression += " WHEN " + std::to_string(code) + " THEN '";
    expression.append(texts[code]).append("'");
  }
  return expression + " END";
}

std::string expression_of(const ReadableColumn& column) {
  std::string pattern = column.storage == StorageClass::code ? code_expression(column.texts) : "@";
  for (const auto& [storage, expression] : expressions) {
    if (storage == column.storage) pattern = expression;
  }
  std::string expression;
  for (const char character : pattern) {
    expression += character == '@' ? "t." + std::string(column.name) : std::string(1, character);
  }
  return expression;
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
    row.bind(1, name);
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
