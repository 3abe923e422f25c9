// Lists: rows in the order (created_at, key), page by page. An index drives each page, whatever the
// filters.
//
// The fields of a list's request declare its filters (model/filters.hpp). The most selective filter
// drives: its index gives one ordered stream of rows for each combination of customer, value, and
// value of a closed set between them and the time. One statement, a UNION ALL that the database
// merges, visits the rows of a few streams. More streams, and streams that overlap, are merged in
// C++ by position. Filters that do not drive are conditions, which the statement evaluates for each
// row that it visits. The rows that meet them are read by key, until the page is full or has
// visited its maximum number of rows.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/filters.hpp"
#include "store/page_rows.hpp"
#include "store/streams.hpp"

namespace comptroller::store {

// The customers whose rows are listed: one customer, or all customers of the store.
struct Ownership {
  std::vector<Value> customers;
  bool is_restricted = false;
  bool has_indexes_of_all = false;  // an index then needs no customer
};

// How selective a column is: the fewer rows share a value, the earlier.
enum class Selectivity : std::uint8_t { unique, narrow, prefix, term, word, closed_set, condition };

template <class T>
constexpr Selectivity selectivity_of(std::string_view column) {
  if (column == "id") return Selectivity::unique;
  if constexpr (ClosedSet<T>) return Selectivity::closed_set;
  if constexpr (std::same_as<T, Word>) return Selectivity::word;
  if constexpr (std::same_as<T, Term>) return Selectivity::term;
  return Selectivity::narrow;
}

// One way to match a filter: the column has one of the values.
struct Alternative {
  const Index* index = nullptr;
  std::string_view column;
  std::vector<Value> values;
};

// Selects rows that match at least one alternative.
struct ListFilter {
  Selectivity selectivity = Selectivity::closed_set;
  std::vector<Alternative> alternatives;
  bool may_overlap = false;  // whether its indexes may give a row more than once
};

// The keys from <= key <= last.
struct KeyRange {
  std::int64_t from = 0;
  std::int64_t last = 0;
};

// One list: its filters, and the statements that read its rows. For one thread at a time. Must not
// outlive the connection.
class Listing {
 public:
  // Returns the number of values of a column that is a closed set or a condition.
  using CountValues = std::size_t (*)(std::string_view column);

  Listing(std::string_view table, std::string columns, const Index& by_time,
          CountValues count_values, Ownership ownership, db::Connection& connection)
      : table_(table),
        columns_(std::move(columns)),
        by_time_(by_time),
        count_values_(count_values),
        ownership_(std::move(ownership)),
        connection_(connection),
        parameters_(connection.symbols()) {}

  // Adds the filter that a field declares, if the request has values for it.
  template <class Filter, class T>
  void add(std::span<const T> values) {
    if (!values.empty()) add_declared(Filter{}, values);
  }
  void add(ListFilter filter) { filters_.push_back(std::move(filter)); }
  // Adds a condition that no index serves.
  void filter(Sql condition) { conditions_.push_back(std::move(condition)); }

  // Returns a value as a column of type T stores it. A value that the store does not have, and the
  // id of another customer's record, become a value that no row has. So a list reads the same rows
  // whether other customers have a value or nobody.
  template <class T, class Given>
  Value stored(std::string_view column, const Given& value) {
    if constexpr (requires { typename T::Referred; }) {
      return key_of(T::Referred::table, parameters_.identifier(value.value));
    } else if constexpr (storage_class<T>() == StorageClass::symbol) {
      return Value::of(find_symbol(value.value).value_or(unused_key));
    } else {
      const Value stored = Column<T>::bind(view_of(value), parameters_);
      if (column == "id" && ownership_.is_restricted && !own_key(table_, stored))
        return unused_id();
      return stored.kind == Value::Kind::text ? parameters_.own(stored.bytes) : stored;
    }
  }

  // Copies a text that a condition refers to.
  Value own(std::string_view text) { return parameters_.own(text); }

  // Replaces the selected columns.
  void select(std::string columns) { columns_ = std::move(columns); }
  // Sets the value of the columns' parameter, if they have one.
  void bind_column(Value value) { column_value_ = value; }
  bool has_bound_column() const { return column_value_.has_value(); }

  // A page then has the rows of a further statement, given a SELECT of the keys of the page's rows.
  // They are read in the same round trip, if the page is read by one statement.
  using SelectRelated = Sql (*)(const Sql& keys);
  void relate(SelectRelated statement) { select_related_ = statement; }

  TimeRange& range() { return range_; }
  const Ownership& ownership() const { return ownership_; }
  db::Connection& connection() const { return connection_; }

  // Returns the rows of a page; they must not outlive the listing.
  PageRows run(const PageQuery& page) const;
  // Returns the rows that a page visits, perhaps more.
  Candidates candidates(const PageQuery& page) const;

  // Returns the `count` keys that begin at the table's first row, or at its first row after a key,
  // whether or not the row matches; nullopt if there is none.
  std::optional<KeyRange> first_keys(std::int64_t count) const;
  std::optional<KeyRange> keys_after(std::int64_t key, std::int64_t count) const;
  // Returns the `count` keys that end with the table's last row; nullopt if there is none.
  std::optional<KeyRange> last_keys(std::int64_t count) const;
  // Returns all rows that match the filters and whose key is in the range, in order of keys. Reads
  // whole tables efficiently. Selects only the columns.
  db::Query scan(KeyRange keys) const;

 private:
  // Values that no row has.
  static constexpr std::int64_t unused_key = -1;

  struct Prefix {
    const Index* index = nullptr;
    std::string_view column;
    Sql range;  // " BETWEEN ? AND ?"
  };

  // clang-tidy mistakes an index as a template argument for a parenthesis.
  // NOLINTBEGIN(readability-redundant-parentheses)
  template <Literal Column, class T, const Index& By, class Given>
  void add_declared(Equals<Column, T, By> declared, std::span<const Given> values) {
    // Several rows of the other table may refer to the same listed row.
    add({selectivity_of<T>(Column.view()), {alternative(declared, values)}, !By.table.empty()});
  }
  template <Literal Column, const Index& By, class Given>
  void add_declared(IsGroup<Column, By>, std::span<const Given> values) {
    add_group(By, Column.view(), values.front().value);
  }
  template <class... F, class Given>
  void add_declared(AnyOf<F...>, std::span<const Given> values) {
    add({Selectivity::narrow, {alternative(F{}, values)...}, true});
  }
  template <Literal Column, const Index& By, class Given>
  void add_declared(BeginsWith<Column, By>, std::span<const Given> values) {
    add_prefix(By, Column.view(), values.front().value, Given::maximum_length);
  }
  template <Bound B>
  void add_declared(Created<B>, std::span<const Timestamp> values) {
    range_.narrow(B, values.front());
  }
  template <Literal Column, class T, Bound B, class Given>
  void add_declared(Compares<Column, T, B>, std::span<const Given> values) {
    filter(compares(Column.view(), B, stored<T>(Column.view(), values.front())));
  }
  template <class Given>
  void add_declared(Unindexed, std::span<const Given>) {}  // listing_for adds it
  template <class Given>
  void add_declared(NextColumn, std::span<const Given>) {}  // as well
  template <class Given>
  void add_declared(NoFilter, std::span<const Given>) {}

  template <Literal Column, class T, const Index& By, class Given>
  Alternative alternative(Equals<Column, T, By>, std::span<const Given> values) {
    Alternative alternative{&By, Column.view(), {}};
    // In an order that does not depend on the keys of the store.
    std::vector<Given> ordered(values.begin(), values.end());
    std::ranges::sort(ordered);
    const auto repeated = std::ranges::unique(ordered);
    ordered.erase(repeated.begin(), repeated.end());
    expect<T>(Column.view(), std::span<const Given>(ordered));
    for (const Given& value : ordered) {
      alternative.values.push_back(stored<T>(Column.view(), value));
    }
    return alternative;
  }
  // Announces that `stored` will look up these values.
  template <class T, class Given>
  void expect(std::string_view column, std::span<const Given> values) {
    if constexpr (requires { typename T::Referred; }) {
      expect_keys(T::Referred::table, values.size(),
                  [&](std::size_t index) { return parameters_.identifier(values[index].value); });
    } else if constexpr (storage_class<T>() == StorageClass::symbol) {
      std::vector<std::string_view> texts;
      for (const Given& value : values) texts.push_back(value.value);
      expect_symbols_of_request(texts);
    } else if (column == "id" && ownership_.is_restricted) {
      expect_keys(table_, values.size(), [&](std::size_t index) {
        return Column<T>::bind(view_of(values[index]), parameters_);
      });
    }
  }
  // NOLINTEND(readability-redundant-parentheses)

  void add_prefix(const Index& index, std::string_view column, std::string_view prefix,
                  std::size_t longest);
  // The customers of rows that name a group that is not stored are unknown. So an index by group
  // drives a list of one customer only if the group is stored and belongs to this customer.
  void add_group(const Index& index, std::string_view column, std::string_view id);
  std::optional<std::int64_t> find_symbol(std::string_view text) const;
  std::optional<std::int64_t> own_key(std::string_view table, const Value& id) const;
  Value key_of(std::string_view table, const Value& id) const;
  void expect_symbols_of_request(std::span<const std::string_view> texts) const;
  // Announces lookups of the keys of several ids, with own_key or key_of.
  void expect_keys(std::string_view table, std::size_t count,
                   const std::function<Value(std::size_t)>& id) const;
  Sql condition(const ListFilter& filter) const;
  bool names_customers(const Index& index) const;
  // Returns the hint that the index must be used, which follows the name of its table.
  std::string_view hint_of(const Index& index) const;

  // Returns the filter that drives.
  const ListFilter& most_selective() const;
  // Whether the rows with the prefix are read instead, if they are few.
  bool is_by_prefix(const ListFilter& driving) const;
  std::vector<AccessPath> paths(const ListFilter& driving) const;
  AccessPath path(const ListFilter& driving, const Alternative& alternative) const;
  // Returns the conditions on rows, each after " AND ", without the filters that an index serves.
  Sql conditions_besides(const std::vector<const ListFilter*>& served) const;
  std::optional<db::Query> query_related(const Sql& page) const;
  Sql selection() const;  // SELECT, the columns and the key
  // Describes the rows that `scan` reads; nullopt if only SQL can express them.
  std::optional<db::TableScan> table_scan(KeyRange keys) const;
  // Returns all rows with the prefix; nullopt if they are too many.
  std::optional<Candidates> find_prefix(const Prefix& prefix, const PageQuery& page) const;

  std::string_view table_;
  std::string columns_;
  std::optional<Value> column_value_;
  const Index& by_time_;
  ListFilter everything_{Selectivity::condition, {{&by_time_, {}, {}}}};  // drives without a filter
  CountValues count_values_;
  SelectRelated select_related_ = nullptr;
  Ownership ownership_;
  db::Connection& connection_;
  BoundValues parameters_;  // owns the bytes of values
  std::vector<ListFilter> filters_;
  std::optional<Prefix> prefix_;
  std::vector<Sql> conditions_;
  TimeRange range_;
};

// The values that a request gives a member.
template <class T>
std::span<const T> given_values(const std::vector<T>& values) {
  return values;
}
template <class T>
std::span<const T> given_values(const std::optional<T>& value) {
  return value ? std::span<const T>(&*value, 1) : std::span<const T>();
}

template <Record R>
std::size_t count_values(std::string_view column) {
  std::size_t count = 2;  // the number of values of a condition
  for_each_field<R>([&]<class F>() {
    if (F::name == column) count = enum_texts<bare<typename F::Type>>.size();
  });
  return count;
}

// Makes the list of R for a request.
template <Record R, Record Request>
Listing make_listing(db::Connection& connection, const Request& request, Ownership ownership) {
  Listing listing(R::table, select_list<R>(), Request::by_time, &count_values<R>,
                  std::move(ownership), connection);
  for_each_field<Request>(
      [&]<class F>() { listing.add<typename F::Filter>(given_values(request.*F::member)); });
  return listing;
}

}  // namespace comptroller::store
