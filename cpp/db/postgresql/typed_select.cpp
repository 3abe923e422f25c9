#include "db/postgresql/typed_select.hpp"

#include <algorithm>
#include <string_view>

#include "model/error.hpp"
#include "model/storage_class.hpp"

namespace comptroller::db::postgresql {

namespace {

// Returns an expression with a column in the place of each @.
std::string applied(std::string_view pattern, const std::string& column) {
  std::string expression;
  for (const char character : pattern) {
    expression += character == '@' ? column : std::string(1, character);
  }
  return expression;
}

// Returns the texts of a closed set as an array, in which PostgreSQL finds a text faster than in a
// CASE.
std::string array_of(std::span<const std::string_view> texts) {
  std::string array = "ARRAY[";
  for (const std::string_view text : texts) {
    if (array.back() != '[') array += ", ";
    array.append("'").append(text).append("'");
  }
  return array + "]";
}

// The first byte of a bytea tells a blob (0) from a text (1); see values.hpp.
std::string expression_of(const ReadableColumn& column, const std::string& stored) {
  switch (column.storage) {
    case StorageClass::symbol:
      return '"' + stored + "\".text";
    case StorageClass::code:
      return applied("(" + array_of(column.texts) + R"()[@ + 1] COLLATE "C")", stored);
    case StorageClass::identifier:
      return applied(
          "CASE get_byte(@, 0) WHEN 0 THEN encode(substr(@, 2), 'hex')::uuid::text"
          R"( ELSE convert_from(substr(@, 2), 'UTF8') END COLLATE "C")",
          stored);
    case StorageClass::hash:
      return applied(
          "CASE get_byte(@, 0) WHEN 0 THEN '0x' || encode(substr(@, 2), 'hex')"
          R"( ELSE convert_from(substr(@, 2), 'UTF8') END COLLATE "C")",
          stored);
    case StorageClass::timestamp:
      // In two steps, because an interval is multiplied by a double precision number.
      return applied(
          "timestamp 'epoch' + @ / 1000000 * interval '1 second'"
          " + @ % 1000000 * interval '1 microsecond'",
          stored);
    case StorageClass::addresses:
      return applied(
          "CASE get_byte(@, 0) WHEN 0 THEN ARRAY(SELECT '0x' || encode(substr(@, n, 20), 'hex')"
          " FROM generate_series(2, length(@) - 19, 20) AS n) WHEN 1 THEN ARRAY(SELECT"
          R"( json_array_elements_text(convert_from(substr(@, 2), 'UTF8')::json)) END COLLATE "C")",
          stored);
    case StorageClass::amount:
      return applied("@::numeric", stored);
    case StorageClass::boolean:
      return applied("@ <> 0", stored);
    case StorageClass::text:
    case StorageClass::document:
      break;
  }
  return stored;
}

}  // namespace

std::string typed_select(const ReadableView& table, std::span<const std::string> columns,
                         const std::string& schema) {
  std::string list;
  std::string from = " FROM " + schema + "." + std::string(table.table) + " AS t";
  for (const std::string& name : columns) {
    const auto column = std::ranges::find(table.columns, name, &ReadableColumn::name);
    if (column == table.columns.end()) {
      throw Error::invalid("columns", "no column " + name + " of " + std::string(table.table));
    }
    const std::string stored = "t." + name;
    if (column->storage == StorageClass::symbol) {
      // A join, because a subquery would look up each row. PostgreSQL omits one that nothing reads.
      from.append(" LEFT JOIN ").append(schema).append(".symbols AS \"").append(stored);
      from.append("\" ON \"").append(stored).append("\".key = ").append(stored);
    }
    list += (list.empty() ? "" : ", ") + expression_of(*column, stored) + " AS " + name;
  }
  return "SELECT " + list + from;
}

}  // namespace comptroller::db::postgresql
