// The rows of a page, and their JSON.
#pragma once

#include <optional>
#include <string>

#include "store/columns.hpp"
#include "store/merge.hpp"
#include "store/sql.hpp"

namespace comptroller::store {

// A statement that selects the row of a key. `key` is the position of the key among its values.
struct RowByKey {
  Sql sql;
  std::size_t key = 0;
};

// The rows of a page in order: the selected columns, then created_at and key. The listing and the
// connection must outlive the rows.
class PageRows {
 public:
  PageRows() = default;
  explicit PageRows(db::Query query) : query_(std::move(query)) {}
  // Reads the rows at the first `max_rows` positions of a merge.
  PageRows(db::Connection& connection, Merge merge, RowByKey row_by_key, std::int64_t max_rows)
      : merge_(std::move(merge)),
        connection_(&connection),
        row_by_key_(std::move(row_by_key)),
        rows_left_(max_rows) {}

  bool step();
  // The current row, after a step that returned true.
  db::Query& row() { return *query_; }  // NOLINT(bugprone-unchecked-optional-access)

 private:
  std::optional<db::Query> query_;
  std::optional<Merge> merge_;  // the members below are for it
  db::Connection* connection_ = nullptr;
  RowByKey row_by_key_;
  std::int64_t rows_left_ = 0;
};

// Appends `"items":[...]` of at most `limit` rows of R to `out`; returns the position of the last
// row if more rows follow. The rows must be requested with limit + 1.
template <Record R>
std::optional<Position> append_items(std::string& out, PageRows& rows, db::Symbols& symbols,
                                     Audience audience, std::int64_t limit) {
  constexpr int columns = static_cast<int>(R::fields::count);
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
    if (count + 1 == limit) {
      last = {rows.row().column(columns).integer, rows.row().column(columns + 1).integer};
    }
  }
  writer.put("]");
  return std::nullopt;
}

}  // namespace comptroller::store
