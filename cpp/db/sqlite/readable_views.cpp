#include <string>
#include <utility>

#include "db/sqlite/connection.hpp"

namespace comptroller::db::sqlite {

namespace {

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

std::string sql_of(const ReadableView& view) {
  return "CREATE VIEW " + view.name() + " AS " + view.select(expressions);
}

}  // namespace

bool SqliteConnection::has_readable_views(std::span<const ReadableView> views) {
  for (const ReadableView& view : views) {
    const std::string name = view.name();
    Query row = query("SELECT sql FROM sqlite_schema WHERE name = ?1");
    row.bind(1, name);
    if (!row.step() || row.column(0).bytes != sql_of(view)) return false;
  }
  return true;
}

void SqliteConnection::make_readable_views(std::span<const ReadableView> views) {
  for (const ReadableView& view : views) {
    execute("DROP VIEW IF EXISTS " + view.name());
    execute(sql_of(view));
  }
}

}  // namespace comptroller::db::sqlite
