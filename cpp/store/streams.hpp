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

// from <= created_at < before, in microseconds.
struct TimeRange {
  std::int64_t from = std::numeric_limits<std::int64_t>::min();
  std::int64_t before = std::numeric_limits<std::int64_t>::max();

  void narrow(Bound bound, Timestamp time);
  friend bool operator==(const TimeRange&, const TimeRange&) = default;
};

// A page of a list.
struct PageQuery {
  Order order = Order::descending;
  std::optional<Position> position = std::nullopt;  // where the page before it ended
  std::int64_t most_rows = 0;
};

// One index and conditions on the columns before the time. Its rows are an ordered stream for each
// combination of values.
struct AccessPath {
  const Index* index = nullptr;
  std::string_view table;
  TimeRange range;
  std::string condition;                       // begins with " AND " unless it is empty
  std::vector<std::vector<Value>> dimensions;  // of each ?, its values
  Sql filter;                                  // of its rows besides; begins with " AND " as well

  std::size_t stream_count() const;
};

// Selects rows of the streams of a path, in one or, behind a position, two SELECTs: SQLite searches
// an index by the first column of a row value comparison alone.
class StreamSelect {
 public:
  // `columns` begins with SELECT, `conditions` with AND. The path, columns and conditions must
  // outlive it.
  StreamSelect(const AccessPath& path, const Sql& columns, const Sql& conditions, Order order,
               bool is_behind_position);

  const std::string& text() const { return text_; }
  // Appends the values of the text's ?; `position` is set if the rows are behind one.
  void add_values(std::size_t stream, const std::optional<Position>& position,
                  std::vector<Value>& out) const;

 private:
  const AccessPath& path_;
  const Sql& columns_;
  const Sql& conditions_;
  Order order_;
  std::string text_;
};

// Ends a statement of streams of an index; its ? is the most rows.
std::string order_and_limit(const Index& index, Order order);

// The positions of all streams of the paths, by a small statement for each stream.
Merge merge_streams(db::Connection& connection, std::vector<AccessPath> paths,
                    const PageQuery& page);

}  // namespace comptroller::store
