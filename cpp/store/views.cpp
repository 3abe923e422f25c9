#include "store/views.hpp"

#include <vector>

#include "store/storage.hpp"

namespace comptroller::store {

namespace {

struct View {
  std::string name;
  std::string sql;
};

std::string uuid_expression(const std::string& column) {
  const std::string digits = "lower(hex(" + column + "))";
  return "CASE typeof(" + column + ") WHEN 'blob' THEN substr(" + digits +
         ", 1, 8) || '-' || substr(" + digits + ", 9, 4) || '-' || substr(" + digits +
         ", 13, 4) || '-' || substr(" + digits + ", 17, 4) || '-' || substr(" + digits +
         ", 21) ELSE " + column + " END";
}

std::string time_expression(const std::string& column) {
  // Division rounds towards zero, so moments before 1970 need their fraction made positive first.
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

template <class E>
std::string code_expression(const std::string& column) {
  std::string expression = "CASE " + column;
  for (std::size_t code = 0; code < words_of<E>.size(); ++code) {
    expression += " WHEN " + std::to_string(code) + " THEN '";
    expression += words_of<E>[code];
    expression += '\'';
  }
  return expression + " END";
}

template <class F>
std::string expression() {
  using T = bare<typename F::Type>;
  std::string column = "t." + std::string(F::name);
  switch (storage_of<F>) {
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
      if constexpr (ClosedSet<T>) return code_expression<T>(column);
      [[fallthrough]];
    default:
      return column;
  }
}

template <Record R>
View view_of() {
  View view{"readable_" + std::string(R::table), ""};
  std::string columns;
  for_each_field<R>([&]<class F>() {
    if constexpr (storage_of<F> != StorageClass::computed) {
      if (!columns.empty()) columns += ", ";
      columns += expression<F>() + " AS " + std::string(F::name);
    }
  });
  view.sql = "CREATE VIEW " + view.name + " AS SELECT " + columns + " FROM " +
             std::string(R::table) + " AS t";
  return view;
}

const std::vector<View>& views() {
  static const std::vector<View> all = [] {
    std::vector<View> made;
    for_each_table([&]<class R>() { made.push_back(view_of<R>()); });
    return made;
  }();
  return all;
}

}  // namespace

bool views_are_stale(db::Connection& connection) {
  for (const View& view : views()) {
    db::Query query = connection.query("SELECT sql FROM sqlite_schema WHERE name = $name");
    query.bind("$name", db::Value::of(std::string_view(view.name)));
    if (!query.step() || query.column(0).bytes != view.sql) return true;
  }
  return false;
}

void make_views(db::Connection& connection) {
  for (const View& view : views()) {
    connection.execute("DROP VIEW IF EXISTS " + view.name);
    connection.execute(view.sql);
  }
}

}  // namespace comptroller::store
