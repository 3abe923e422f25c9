// Ordered streams of rows, each from a range of one index, and the statements that read them.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "model/lists.hpp"
#include "store/merge.hpp"
#include "store/sql.hpp"

namespace comptroller::store {

// The range from <= created_at < before, in microseconds.
struct TimeRange {
  std::int64_t from = std::numeric_limits<std::int64_t>::min();
  std::int64_t before = std::numeric_limits<std::int64_t>::max();

  void narrow(Bound bound, Timestamp time);
  friend bool operator==(const TimeRange&, const TimeRange&) = default;
};

// A page of a list.
struct PageQuery {
  Order order = Order::descending;
  std::optional<Position> position = std::nullopt;  // the end of the previous page
  std::int64_t max_rows = 0;
};

// One index, and conditions on the columns before the time. Each combination of values gives an
// ordered stream of rows.
struct AccessPath {
  const Index* index = nullptr;
  std::string_view table;
  TimeRange range;
  std::string condition;                       // begins with " AND " unless it is empty
  std::vector<std::vector<Value>> dimensions;  // the values of each ?
  Sql filter;  // a further condition on its rows; begins with " AND " as well

  std::size_t stream_count() const;
};

// Selects the rows of a path's streams with one SELECT, or with two after a position: SQLite
// searches an index only by the first column of a row value comparison.
class StreamSelect {
 public:
  // `columns` begins with SELECT, `conditions` with AND. The path, columns and conditions must
  // outlive this object.
  StreamSelect(const AccessPath& path, const Sql& columns, const Sql& conditions, Order order,
               bool is_behind_position);

  const std::string& text() const { return text_; }
  // Appends the values of the parameters; `position` is set if the rows come after a position.
  void add_values(std::size_t stream, const std::optional<Position>& position,
                  std::vector<Value>& out) const;

 private:
  const AccessPath& path_;
  const Sql& columns_;
  const Sql& conditions_;
  Order order_;
  std::string text_;
};

// Returns the end of a statement that reads streams of an index. Its parameter is the maximum
// number of rows.
std::string order_and_limit(const Index& index, Order order);

// Merges the positions of all streams of the paths; reads each stream with a small statement.
Merge merge_streams(db::Connection& connection, std::vector<AccessPath> paths,
                    const PageQuery& page);

}  // namespace comptroller::store
