// Ordered streams of rows, each from a range of one index, and the statements that read them.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "model/filters.hpp"
#include "model/scalar.hpp"
#include "store/merge.hpp"
#include "store/sql.hpp"

namespace comptroller::store {

// The maximum number of rows that a page visits, whether or not they meet the conditions of the
// list. This bounds the work of a page: usually a few milliseconds, about 20 for filters with
// hundreds of values.
inline constexpr std::int64_t max_rows_visited = 5'000;
static_assert(max_rows_visited > PageLimit::most);

// The range from <= created_at < before, in microseconds.
struct TimeRange {
  std::int64_t from = std::numeric_limits<std::int64_t>::min();
  std::int64_t before = std::numeric_limits<std::int64_t>::max();

  void narrow(Bound bound, Timestamp time);
  friend bool operator==(const TimeRange&, const TimeRange&) = default;
};

// A page of a list.
struct PageQuery {
  Order order = Order::desc;
  std::optional<Position> position = std::nullopt;  // the end of the previous page
  std::int64_t limit = 0;
  std::int64_t max_visited = max_rows_visited;
};

// One index, and conditions on the columns before the time and on the customer. Each combination of
// values gives an ordered stream of rows.
struct AccessPath {
  const Index* index = nullptr;
  std::string_view table;
  std::string hint;  // of the index, after the table
  TimeRange range;
  std::string condition;                       // begins with " AND " unless it is empty
  std::vector<std::vector<Value>> dimensions;  // the values of each ?
  Sql further;  // conditions on the rows that the streams visit; begins with " AND " as well

  std::size_t stream_count() const;
};

// The select list of the rows that a list visits: their position, and whether they meet the
// conditions. `conditions` is empty or begins with " AND ".
Sql select_candidate(const Index& index, const Sql& conditions);
// Returns the current row of a query with this select list.
Candidate candidate_of(db::Query& row);

// Returns a statement that selects the rows of a page, one more if another page follows, with these
// columns, position_time and position_key. Nullopt if there is none: the engine would sort all rows
// (Dialect::has_ordered_branches), the streams are of another table or too many, or they visit rows
// that do not match. The streams must not overlap.
std::optional<Sql> select_page(const db::Dialect& dialect, const std::vector<AccessPath>& paths,
                               std::string_view table, std::string_view columns,
                               const PageQuery& page);

// Returns the rows of the streams of all paths in one order. Reads few streams with one statement,
// and merges more streams, or streams that may overlap.
Candidates read_streams(db::Connection& connection, std::vector<AccessPath> paths, bool may_overlap,
                        const PageQuery& page);

}  // namespace comptroller::store
