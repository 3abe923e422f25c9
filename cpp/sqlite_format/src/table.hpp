// The shape of a table, as the schema of a connection defines it.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sqlite_format {

// In a list of positions of columns: the value is NULL.
inline constexpr std::size_t always_null = std::numeric_limits<std::size_t>::max();

// The columns of a table with an INTEGER PRIMARY KEY, and the root page of its b-tree.
struct Table {
  // `none` also for ANY of a STRICT table.
  enum class Affinity : std::uint8_t { none, integer, text, other };
  struct Column {
    std::string name;
    Affinity affinity = Affinity::none;
    bool is_required = false;
    bool has_default = false;  // records written before the column do not contain it

    friend bool operator==(const Column&, const Column&) = default;
  };
  std::string name;
  std::vector<Column> columns;
  std::size_t key = 0;  // the column that is the key
  std::uint32_t root = 0;

  // Returns nullopt if the table does not exist, has a generated column, or has no INTEGER PRIMARY
  // KEY.
  static std::optional<Table> read(sqlite3* connection, std::string_view name);
  // Returns the position of a column; nullopt for an unknown column and for one with a default.
  std::optional<std::size_t> find(std::string_view column) const;
};

}  // namespace sqlite_format
