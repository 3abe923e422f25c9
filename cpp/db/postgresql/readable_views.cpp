#include <string>
#include <utility>

#include "db/postgresql/connection.hpp"

namespace comptroller::db::postgresql {

namespace {

// Not md5, which a server in FIPS mode refuses.
constexpr const char* digest_of_parameter = "encode(sha256(convert_to(?, 'UTF8')), 'hex')";

// The first byte of a bytea tells a blob (0) from a text (1); see values.hpp.
constexpr std::pair<StorageClass, const char*> expressions[]{
    {StorageClass::symbol, "(SELECT text FROM symbols WHERE symbols.key = @)"},
    {StorageClass::identifier,
     "CASE get_byte(@, 0) WHEN 0 THEN encode(substr(@, 2), 'hex')::uuid::text"
     " ELSE convert_from(substr(@, 2), 'UTF8') END"},
    {StorageClass::hash,
     "CASE get_byte(@, 0) WHEN 0 THEN '0x' || encode(substr(@, 2), 'hex')"
     " ELSE convert_from(substr(@, 2), 'UTF8') END"},
    // In two steps, because an interval is multiplied by a double precision number.
    {StorageClass::timestamp,
     "to_char(timestamp 'epoch' + @ / 1000000 * interval '1 second'"
     " + @ % 1000000 * interval '1 microsecond', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"},
    {StorageClass::addresses,
     "CASE get_byte(@, 0) WHEN 0 THEN (SELECT '[' || coalesce(string_agg('\"0x' ||"
     " encode(substr(@, n, 20), 'hex') || '\"', ',' ORDER BY n), '') || ']'"
     " FROM generate_series(2, length(@) - 19, 20) AS n)"
     " ELSE convert_from(substr(@, 2), 'UTF8') END"}};

}  // namespace

// The server keeps no text of a view, so its comment has a digest of the text.
bool PostgresqlConnection::has_readable_views(std::span<const ReadableView> views) {
  std::string sql = "SELECT true";
  std::vector<std::string> texts;
  texts.reserve(views.size());
  for (const ReadableView& view : views) {
    sql += " AND coalesce(obj_description(to_regclass('" + view.name() +
           "'), 'pg_class') = " + digest_of_parameter + ", false)";
    texts.push_back(view.select(expressions));
  }
  Query row = query(sql);
  for (std::size_t index = 0; index < texts.size(); ++index) {
    row.bind(static_cast<int>(index) + 1, std::string_view(texts[index]));
  }
  return row.step() && row.number(0) != 0;
}

void PostgresqlConnection::make_readable_views(std::span<const ReadableView> views) {
  for (const ReadableView& view : views) {
    const std::string select = view.select(expressions);
    Query digest = query(std::string("SELECT ") + digest_of_parameter);
    digest.bind(1, std::string_view(select)).step();
    const std::string comment(digest.column(0).bytes);
    execute("DROP VIEW IF EXISTS " + view.name());
    execute("CREATE VIEW " + view.name() + " AS " + select);
    execute("COMMENT ON VIEW " + view.name() + " IS '" + comment + "'");
  }
}

}  // namespace comptroller::db::postgresql
