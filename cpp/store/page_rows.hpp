// The rows of a page, and their JSON.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "store/columns.hpp"
#include "store/page_bytes.hpp"
#include "store/streams.hpp"

namespace comptroller::store {

// The rows of a page in order, with the selected columns: of the rows that the list visits, those
// that meet its conditions. A full page continues to the next such row, which shows that another
// page follows. It ends there, or when it has visited its maximum number of rows.
// The listing and the connection must outlive the rows.
class PageRows {
 public:
  // Reads the rows with a query of a row by its key, which is the parameter `key`.
  PageRows(const PageQuery& page, Candidates candidates, db::Query row_by_key, int key)
      : candidates_(std::move(candidates)),
        row_(std::move(row_by_key)),
        key_(key),
        rows_left_(page.limit),
        visits_left_(page.max_visited) {}

  // Does the same for an engine that returns all rows together: visits all rows first, and then
  // reads those that match with one query. It has the rows in the order of the list.
  using ReadRows = std::function<db::Query(const std::vector<Position>& positions)>;
  PageRows(const PageQuery& page, Candidates candidates, const ReadRows& read);

  // Does the same for a query of all rows of the page, and one more if another page follows. They
  // match, and have their position in the columns from `position` on.
  PageRows(const PageQuery& page, db::Query rows, int position, std::optional<db::Query> related)
      : row_(std::move(rows)),
        related_(std::move(related)),
        key_(position),
        is_whole_(true),
        rows_left_(page.limit) {}

  bool step();
  // Ends the page with the current row. Another page follows, which may be empty.
  void end();
  // The current row and its position, after a step that returned true.
  db::Query& row() {
    return *row_;  // NOLINT(bugprone-unchecked-optional-access): without a query there is no row
  }
  const Position& position() const { return position_; }
  // The rows that Listing::relate selects; null if they were not read with the page.
  db::Query* related() { return related_ ? &*related_ : nullptr; }
  // The position after which the next page begins, after a step that returned false; nullopt on the
  // last page.
  const std::optional<Position>& next_page() const { return next_page_; }

 private:
  bool step_whole();
  // Moves to the next row that matches; false at the end of the page.
  bool visit_next();

  Candidates candidates_;
  std::optional<db::Query> row_;
  std::optional<db::Query> related_;
  int key_ = 0;
  bool is_whole_ = false;
  std::optional<std::vector<Position>> positions_;  // of all rows
  std::size_t next_ = 0;                            // of the positions
  std::int64_t rows_left_;
  std::int64_t visits_left_ = 0;
  Position position_;  // visited last
  std::optional<Position> next_page_;
  bool has_ended_ = false;
};

// Appends `"items":[...]` with the rows of R to `out`.
template <Record R>
void append_items(std::string& out, PageRows& rows, const PageBytes& bytes, db::Symbols& symbols,
                  Audience audience) {
  json::JsonWriter writer(out, audience);
  writer.put("\"items\":[");
  for (bool is_first = true; rows.step(); is_first = false) {
    if (!is_first) writer.put(",");
    writer.write_record<R>(Row{rows.row(), symbols});
    if (bytes.is_full(out.size())) rows.end();
  }
  writer.put("]");
}

}  // namespace comptroller::store
