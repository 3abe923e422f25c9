// Keyset pages: rows by (created_at, key), each page driven by an index whatever the filters.
//
// The first choice that is made drives: one SELECT a value, joined by UNION ALL under the common
// ORDER BY and LIMIT, which the database merges lazily. Behind a cursor each becomes two (the rest
// of its moment, and what lies beyond), because a row value comparison would be driven by
// created_at alone. What is added later filters what the driver finds, so the most selective
// choices are made first. Where one statement cannot join all (an operator's list over hundreds of
// customers), the keys of the page are merged here, from one small statement a driver.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/requests.hpp"
#include "store/row_json.hpp"

namespace comptroller::store {

// Where a page ended.
struct Position {
  std::int64_t created_at = 0;
  std::int64_t key = 0;
};

// from <= created_at < before, in microseconds.
struct TimeRange {
  std::int64_t from = std::numeric_limits<std::int64_t>::min();
  std::int64_t before = std::numeric_limits<std::int64_t>::max();

  void at_least(Timestamp moment) { from = std::max(from, moment.microseconds); }
  void after(Timestamp moment) { from = std::max(from, moment.microseconds + 1); }
  void at_most(Timestamp moment) { before = std::min(before, moment.microseconds + 1); }
  void earlier_than(Timestamp moment) { before = std::min(before, moment.microseconds); }
};

// Narrows the range to the bounds of a request.
void bound(TimeRange& range, const CreatedAtBounds& bounds);

// Whose rows are listed: those of one customer, or of all that the store knows.
struct Ownership {
  std::vector<std::int64_t> customers;
  bool is_restricted = false;
};

// An SQL condition with ? parameters.
struct Condition {
  std::string sql;
  std::vector<Value> values;
  bool is_by_customer = true;  // false: drives by an index that does not begin with the customer

  friend bool operator==(const Condition&, const Condition&) = default;
};

class Listing {
 public:
  // `columns` is a select list of `column_count` columns.
  Listing(std::string table, std::string columns, std::size_t column_count, Ownership ownership,
          db::Symbols& symbols)
      : table_(std::move(table)),
        columns_(std::move(columns)),
        column_count_(column_count),
        ownership_(std::move(ownership)),
        symbols_(symbols),
        parameters_(symbols) {}

  // Rows whose column has one of the values, by an index (customer_id, column, created_at); all
  // rows if there are none.
  template <class Kept, class T>
  void among(std::string_view column, const std::vector<T>& values) {
    std::vector<Condition> conditions;
    conditions.reserve(values.size());
    Condition in{"+" + std::string(column) + " IN (", {}};
    for (const T& value : values) {
      conditions.push_back(equals<Kept>(column, value));
      in.sql += in.values.empty() ? "?" : ", ?";
      in.values.push_back(conditions.back().values.front());
    }
    in.sql += ')';
    choose(std::move(conditions), true, std::move(in));
  }
  template <class Kept, class T>
  void equal(std::string_view column, const std::optional<T>& value) {
    if (value) choose({equals<Kept>(column, *value)}, true);
  }
  // The same for a column that belongs to one customer anyway, by an index (column, created_at).
  template <class Kept, class T>
  void equal_anywhere(std::string_view column, const std::optional<T>& value) {
    if (value) choose({equals<Kept>(column, *value)}, false);
  }
  // Rows that satisfy one of the conditions; no row may satisfy two that differ. Where another
  // choice drives, the conditions filter, or `as_filter` does in their place.
  void choose(std::vector<Condition> conditions, bool is_by_customer,
              std::optional<Condition> as_filter = std::nullopt);
  void filter(Condition condition) { filters_.push_back(std::move(condition)); }

  // `column = ?` with the value as a column of type Kept has it. A text that the store never saw
  // equals nothing.
  template <class Kept, class T>
  Condition equals(std::string_view column, const T& value) {
    return {std::string(column) + " = ?", {as_kept<Kept>(value)}};
  }
  Value own(std::string_view text) { return parameters_.own(text); }

  // Where created_at and key are found; for listings that join.
  void keyed_by(std::string created_at, std::string key) {
    created_at_ = std::move(created_at);
    key_ = std::move(key);
  }

  const Ownership& ownership() const { return ownership_; }
  void owned_by(std::string customer_id) { customer_id_ = std::move(customer_id); }

  // Other columns than those it was made with. Values of a ? stay if these have one as well.
  void select(std::string columns, std::size_t column_count) {
    columns_ = std::move(columns);
    column_count_ = column_count;
    if (columns_.find('?') == std::string::npos) column_values_.clear();
  }

  // The value of a ? in the select list.
  void bind_column(Value value) { column_values_.push_back(value); }
  bool has_bound_column() const { return !column_values_.empty(); }

  TimeRange& range() { return range_; }

  // Runs the listing: the columns, then created_at and key. Rows beyond `position` only.
  db::Query run(db::Connection& connection, Order order, const std::optional<Position>& position,
                std::int64_t most_rows);

  // Runs over all rows that satisfy the same conditions and whose key is in [from, before), in
  // order of arrival: the way to read everything. Gives the columns alone.
  db::Query scan(db::Connection& connection, std::int64_t from, std::int64_t before);

 private:
  // Which rows of all that satisfy the conditions.
  struct Page {
    Order order = Order::descending;
    std::optional<Position> position;
    std::int64_t most_rows = 0;
  };

  template <class Kept, class T>
  Value as_kept(const T& value) {
    if constexpr (storage_class<Kept>() == StorageClass::symbol) {
      return Value::of(symbols_.find(value.value).value_or(0));
    } else if constexpr (storage_class<Kept>() == StorageClass::identifier) {
      return parameters_.identifier(value.value);
    } else {
      return parameters_.of(value);
    }
  }

  std::vector<Condition> drivers() const;
  db::Query select(db::Connection& connection, const Condition& columns,
                   std::span<const Condition> drivers, const Page& page);
  std::vector<Value> merge(db::Connection& connection, const std::vector<Condition>& drivers,
                           Page page);
  std::string order_by(std::size_t columns, const Page& page);
  db::Query bind_all(db::Query query) const;
  // The SQL with its parameters numbered on, which are bound from now.
  std::string number(const Condition& condition);
  std::string number_filters();

  std::string table_;
  std::string columns_;
  std::size_t column_count_;
  std::vector<Value> column_values_;
  Ownership ownership_;
  db::Symbols& symbols_;
  Parameters parameters_;
  std::string created_at_ = "created_at";
  std::string key_ = "key";
  std::string customer_id_ = "customer_id";
  std::vector<Condition> choices_;
  bool has_choice_ = false;
  bool is_by_customer_ = true;
  std::vector<Condition> filters_;
  TimeRange range_;
  std::vector<Value> bound_;
};

// Appends `"items":[...]` of at most `limit` rows of R to `out`; gives the position of the last row
// if more follow. The query must have been asked for limit + 1 rows.
template <Record R>
std::optional<Position> append_items(std::string& out, db::Query& rows, db::Symbols& symbols,
                                     json::Audience audience, std::int64_t limit) {
  constexpr int columns = static_cast<int>(R::fields::count);
  Position last;
  Tail tail(out);
  tail.put("\"items\":[");
  for (std::int64_t count = 0; rows.step(); ++count) {
    if (count == limit) {
      tail.put("]");
      return last;
    }
    if (count > 0) tail.put(",");
    put_row<R>(tail, rows, symbols, audience);
    if (count + 1 == limit) {
      last = {rows.column(columns).integer, rows.column(columns + 1).integer};
    }
  }
  tail.put("]");
  return std::nullopt;
}

}  // namespace comptroller::store
