// The rows of a page, and their JSON.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "store/columns.hpp"
#include "store/merge.hpp"
#include "store/sql.hpp"

namespace comptroller::store {

// The rows of a page in order, with the selected columns. The listing and the connection must
// outlive the rows.
class PageRows {
 public:
  // A query of created_at and key, a merge, or a difference of merges.
  using Positions = std::variant<std::monostate, db::Query, Merge, Difference>;

  PageRows() = default;
  // Reads the rows of a query, which selects created_at and key after the columns.
  explicit PageRows(db::Query rows) : row_(std::move(rows)) {}
  // Reads up to `max_rows` rows at positions with a query of rows by key.
  PageRows(Positions positions, db::Query rows_by_key, std::int64_t max_rows)
      : positions_(std::move(positions)), rows_left_(max_rows), row_(std::move(rows_by_key)) {}
  // The same with a statement, which may exclude rows. Its last parameter is the key.
  PageRows(Positions positions, db::Connection& connection, Sql row_by_key, std::int64_t max_rows)
      : positions_(std::move(positions)),
        connection_(&connection),
        row_by_key_(std::move(row_by_key)),
        rows_left_(max_rows) {}

  bool step();
  // The current row and its position, after a step that returned true.
  db::Query& row() { return *row_; }  // NOLINT(bugprone-unchecked-optional-access)
  Position position();
  // The position after which the next page begins, if the rows ended before the page was full.
  std::optional<Position> stopped_at() const;

 private:
  std::optional<Position> next_position();
  bool find(std::int64_t key);

  Positions positions_;  // of rows that are read by key
  db::Connection* connection_ = nullptr;
  Sql row_by_key_;
  std::int64_t rows_left_ = 0;
  std::optional<db::Query> row_;
  Position position_;
};

// Appends `"items":[...]` of at most `limit` rows of R to `out`; returns the position after which
// the next page begins if more rows may follow. The rows must be requested with limit + 1.
template <Record R>
std::optional<Position> append_items(std::string& out, PageRows& rows, db::Symbols& symbols,
                                     Audience audience, std::int64_t limit) {
  Position last;
  json::JsonWriter writer(out, audience);
  writer.put("\"items\":[");
  for (std::int64_t count = 0; rows.step(); ++count) {
    if (count == limit) {
      writer.put("]");
      return last;
    }
    if (count > 0) writer.put(",");
    writer.write_record<R>(Row{rows.row(), symbols});
    if (count + 1 == limit) last = rows.position();
  }
  writer.put("]");
  return rows.stopped_at();
}

}  // namespace comptroller::store
