// Lists: rows by (created_at, key), page by page, each page driven by an index whatever the
// filters.
//
// A list's filters are declared by the fields of its request (model/filters.hpp). The most
// selective one drives: its index gives one ordered stream of rows for each combination of
// customer, value and value of a closed set between them and the time. Few streams are one
// statement, a UNION ALL that the database merges; more of them, and those that overlap, are merged
// here by position, and the rows read by key. What does not drive filters.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/requests.hpp"
#include "store/page_rows.hpp"
#include "store/streams.hpp"

namespace comptroller::store {

// Whose rows are listed: those of one customer, or of all that the store knows.
struct Ownership {
  std::vector<Value> customers;
  bool is_restricted = false;
  bool has_indexes_of_all = false;  // then no customer needs to be named
};

// How few rows share a value of a column, the fewest first.
enum class Selectivity : std::uint8_t { unique, narrow, prefix, term, word, closed_set, condition };

template <class T>
constexpr Selectivity selectivity_of(std::string_view column) {
  if (column == "id") return Selectivity::unique;
  if constexpr (ClosedSet<T>) return Selectivity::closed_set;
  if constexpr (std::same_as<T, Word>) return Selectivity::word;
  if constexpr (std::same_as<T, Term>) return Selectivity::term;
  return Selectivity::narrow;
}

// One way to satisfy a filter: the column has one of the values.
struct Alternative {
  const Index* index = nullptr;
  std::string_view column;
  std::vector<Value> values;
  Sql condition = {};                    // what must hold besides, if anything
  std::int64_t from = TimeRange{}.from;  // no row before this time satisfies it
};

// Rows for which an alternative holds.
struct ListFilter {
  Selectivity selectivity = Selectivity::closed_set;
  std::vector<Alternative> alternatives;
  bool may_overlap = false;  // whether an index, or two, may give a row more than once
};

class Listing {
 public:
  // The number of values of a column that is a closed set or a condition.
  using CountWords = std::size_t (*)(std::string_view column);

  Listing(std::string_view table, std::string columns, const Index& by_time, CountWords count_words,
          Ownership ownership, db::Connection& connection)
      : table_(table),
        columns_(std::move(columns)),
        by_time_(by_time),
        count_words_(count_words),
        ownership_(std::move(ownership)),
        connection_(connection),
        parameters_(connection.symbols()) {}

  // Adds the filter that a field declares, if it has values.
  template <class Filter, class T>
  void add(std::span<const T> values) {
    if (!values.empty()) add_declared(Filter{}, values);
  }
  void add(ListFilter filter) { filters_.push_back(std::move(filter)); }
  // A condition that no index serves.
  void filter(Sql condition) { conditions_.push_back(std::move(condition)); }

  // A value as a column of type T stores it; none if the store has never seen it.
  template <class T, class Given>
  std::optional<Value> stored(const Given& value) {
    if constexpr (std::same_as<T, KeyOf<StoredIdentity>>) {
      return key_of_identity(parameters_.identifier(value.value));
    } else if constexpr (storage_class<T>() == StorageClass::symbol) {
      const auto key = connection_.symbols().find(value.value);
      return key ? std::optional(Value::of(*key)) : std::nullopt;
    } else {
      const Value stored = Column<T>::bind(Scalar<Given>::view(value), parameters_);
      return stored.kind == Value::Kind::text ? parameters_.own(stored.bytes) : stored;
    }
  }

  // Other columns than those it was made with.
  void select(std::string columns) { columns_ = std::move(columns); }
  // The value of the one ? that the columns may have.
  void bind_column(Value value) { column_value_ = value; }
  bool has_bound_column() const { return column_value_.has_value(); }

  TimeRange& range() { return range_; }

  // The rows of a page; they must not outlive the listing.
  PageRows run(const PageQuery& page) const;

  // All rows that satisfy the filters and whose key is in [from, before), in order of arrival: the
  // way to read everything. Gives the columns alone.
  db::Query scan(std::int64_t from, std::int64_t before) const;

 private:
  struct Prefix {
    const Index* index = nullptr;
    std::string_view column;
    Sql range;  // " BETWEEN ? AND ?"
  };

  // clang-tidy takes an index as a template argument for a parenthesis.
  // NOLINTBEGIN(readability-redundant-parentheses)
  template <Literal Column, class T, const Index& By, class Given>
  void add_declared(Equals<Column, T, By> declared, std::span<const Given> values) {
    // A row of another table refers to one that others may refer to as well.
    add({selectivity_of<T>(Column.view()), {alternative(declared, values)}, !By.table.empty()});
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
  template <class Given>
  void add_declared(Narrows, std::span<const Given>) {}  // the repository's to add
  template <class Given>
  void add_declared(NoFilter, std::span<const Given>) {}

  template <Literal Column, class T, const Index& By, class Given>
  Alternative alternative(Equals<Column, T, By>, std::span<const Given> values) {
    Alternative alternative{&By, Column.view(), {}, {}};
    for (const Given& value : values) {
      if (const auto found = stored<T>(value)) alternative.values.push_back(*found);
    }
    keep_distinct(alternative.values);
    return alternative;
  }
  // NOLINTEND(readability-redundant-parentheses)

  // The filters that the indexes of paths serve, once for each path.
  using Served = std::vector<const ListFilter*>;

  static void keep_distinct(std::vector<Value>& values);
  void add_prefix(const Index& index, std::string_view column, std::string_view prefix,
                  std::size_t longest);
  std::optional<Value> key_of_identity(const Value& id) const;
  Sql condition(const ListFilter& filter) const;
  bool names_customers(const Index& index) const;

  std::vector<Value> values_of_closed_set(std::string_view column, Served& served) const;
  AccessPath path(const Alternative& alternative, Served& served) const;
  // What rows must satisfy that all of so many paths serve.
  Sql conditions_besides(const Served& served, std::size_t paths) const;
  Sql selection() const;  // SELECT and the columns
  // What `scan` reads, if it can be said without SQL.
  std::optional<db::TableScan> table_scan(std::int64_t from, std::int64_t before) const;
  PageRows join(const std::vector<AccessPath>& paths, const Sql& conditions,
                const PageQuery& page) const;
  PageRows at_positions(Merge merge, const Sql& conditions, const PageQuery& page) const;
  std::optional<Merge> merge_by_prefix(const Prefix& prefix, const PageQuery& page) const;

  std::string_view table_;
  std::string columns_;
  std::optional<Value> column_value_;
  const Index& by_time_;
  CountWords count_words_;
  Ownership ownership_;
  db::Connection& connection_;
  BoundValues parameters_;  // owns the bytes of values
  std::vector<ListFilter> filters_;
  std::optional<Prefix> prefix_;
  std::vector<Sql> conditions_;
  TimeRange range_;
};

namespace detail {
template <class T>
std::span<const T> given_values(const std::vector<T>& values) {
  return values;
}
template <class T>
std::span<const T> given_values(const std::optional<T>& value) {
  return value ? std::span<const T>(&*value, 1) : std::span<const T>();
}
}  // namespace detail

template <Record R>
std::size_t count_words(std::string_view column) {
  std::size_t count = 2;  // of a condition
  for_each_field<R>([&]<class F>() {
    if (F::name == column) count = words_of<bare<typename F::Type>>.size();
  });
  return count;
}

// The list of R that a request asks for.
template <Record R, Record Request>
Listing make_listing(db::Connection& connection, const Request& request, Ownership ownership) {
  Listing listing(R::table, select_list<R>(), Request::by_time, &count_words<R>,
                  std::move(ownership), connection);
  for_each_field<Request>([&]<class F>() {
    listing.add<typename F::Filter>(detail::given_values(request.*F::member));
  });
  return listing;
}

}  // namespace comptroller::store
