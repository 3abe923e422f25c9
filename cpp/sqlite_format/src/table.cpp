#include "sqlite_format/src/table.hpp"

#include <algorithm>

#include "sqlite_format/src/sql.hpp"

namespace sqlite_format {

namespace {

Table::Affinity affinity_of(std::string_view type, bool is_strict) {
  using enum Table::Affinity;
  if (type == "INTEGER") return integer;
  if (type == "TEXT") return text;
  return type.empty() || (is_strict && type == "ANY") ? none : other;
}

}  // namespace

std::optional<Table> Table::read(sqlite3* connection, std::string_view name) {
  Table table;
  table.name = name;
  Sql definition(
      connection,
      "SELECT rootpage, sql LIKE '%) STRICT' FROM sqlite_schema WHERE type = 'table' AND name = ?");
  if (!definition.bind(name).step()) return std::nullopt;
  table.root = static_cast<std::uint32_t>(definition.number(0));
  const bool is_strict = definition.flag(1);
  if (table.root < 2) return std::nullopt;
  Sql columns(connection,
              "SELECT name, type, \"notnull\", dflt_value IS NOT NULL, pk, hidden"
              " FROM pragma_table_xinfo(?)");
  columns.bind(name);
  std::size_t keys = 0;
  while (columns.step()) {
    const Affinity affinity = affinity_of(columns.text(1), is_strict);
    const bool is_key = columns.flag(4);
    const bool is_hidden = columns.flag(5);
    if (is_hidden) return std::nullopt;
    if (is_key) {
      if (affinity != Affinity::integer || ++keys > 1) return std::nullopt;
      table.key = table.columns.size();
    }
    table.columns.push_back({columns.text(0), affinity, columns.flag(2), columns.flag(3)});
  }
  if (keys == 0) return std::nullopt;
  return table;
}

std::optional<std::size_t> Table::find(std::string_view column) const {
  const auto found = std::ranges::find(columns, column, &Column::name);
  if (found == columns.end() || found->has_default) return std::nullopt;
  return static_cast<std::size_t>(found - columns.begin());
}

}  // namespace sqlite_format
