#include <string>
#include <utility>

#include "db/postgresql/connection.hpp"
#include "db/refill.hpp"

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
  lock_journal(true);  // against other programs that do so
  for (const ReadableView& view : views) {
    const std::string select = view.select(expressions);
    Query digest = query(std::string("SELECT ") + digest_of_parameter);
    digest.bind(1, std::string_view(select)).step();
    const std::string comment(digest.column(0).bytes);
    replace_view(view.name(), select, comment);
    execute("COMMENT ON VIEW " + view.name() + " IS '" + comment + "'");
  }
}

// Views of others may use it, and others may have been granted it. Columns that are added at the
// end change neither. For other changes the former view gives way: dropped, or, if other views use
// it, under another name.
void PostgresqlConnection::replace_view(const std::string& name, const std::string& select,
                                        const std::string& digest) {
  const auto is_possible = [&](const std::string& change) {
    execute("SAVEPOINT replaced");
    try {
      execute(change);
      return true;
    } catch (const Error& error) {
      if (error.code() != Code::unusable) throw;  // a lock, or the connection
      execute("ROLLBACK TO SAVEPOINT replaced");
      return false;
    }
  };
  const std::string as_select = " VIEW " + name + " AS " + select;
  if (is_possible("CREATE OR REPLACE" + as_select)) return;
  Query granted = query(
      "SELECT 'GRANT ' || privilege_type || ' ON ' || ? || ' TO ' || CASE grantee WHEN 0 THEN"
      " 'PUBLIC' ELSE grantee::regrole::text END || CASE WHEN is_grantable THEN"
      " ' WITH GRANT OPTION' ELSE '' END FROM pg_class CROSS JOIN LATERAL aclexplode(relacl)"
      " WHERE oid = to_regclass(?) AND grantee <> relowner");
  granted.bind(1, std::string_view(name)).bind(2, std::string_view(name));
  const std::vector<std::string> grants = texts(std::move(granted));
  if (!is_possible("DROP VIEW " + name)) {
    execute("ALTER VIEW " + name + " RENAME TO " + name + "_before_" + digest.substr(0, 8));
  }
  execute("CREATE" + as_select);
  for (const std::string& grant : grants) execute(grant);
}

}  // namespace comptroller::db::postgresql
