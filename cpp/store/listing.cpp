#include "store/listing.hpp"

#include <tuple>
#include <utility>

#include "db/select_list.hpp"

namespace comptroller::store {

namespace {

// The maximum number of streams, together with the values of filters that each stream repeats, that
// one statement merges. SQLite passes each row through half of the streams, so more streams are
// merged in C++.
constexpr std::size_t max_joined_streams = 16;
constexpr std::size_t max_joined_values = 256;
// A prefix that at most so many groups have is served by its index, and the groups are sorted.
constexpr std::int64_t max_rows_of_prefix = 1000;
constexpr std::string_view customer_column = "customer_id";

auto is_on(std::string_view column) {
  return [column](const ListFilter& filter) {
    return filter.alternatives.size() == 1 && filter.alternatives.front().column == column;
  };
}

}  // namespace

void Listing::keep_distinct(std::vector<Value>& values) {
  const auto order = [](const Value& value) {
    return std::tuple(value.kind, value.integer, value.bytes);
  };
  std::ranges::sort(values, {}, order);
  const auto repeated = std::ranges::unique(values);
  values.erase(repeated.begin(), repeated.end());
}

std::optional<Value> Listing::key_of_identity(const Value& id) const {
  db::Query query = connection_.query("SELECT key FROM identities WHERE id = ?");
  if (!query.bind(1, id).step()) return std::nullopt;
  return Value::of(query.column(0).integer);
}

void Listing::add_prefix(const Index& index, std::string_view column, std::string_view prefix,
                         std::size_t longest) {
  Sql range{" BETWEEN ? AND ?",
            {parameters_.own(prefix), parameters_.own(last_with_prefix(prefix, longest))}};
  conditions_.push_back(Sql{unindexed(column), {}}.add(range));
  prefix_ = Prefix{&index, column, std::move(range)};
}

bool Listing::names_customers(const Index& index) const {
  return index.columns.starts_with(customer_column) &&
         (ownership_.is_restricted || !ownership_.has_indexes_of_all);
}

Sql Listing::condition(const ListFilter& filter) const {
  Sql any;
  for (const Alternative& alternative : filter.alternatives) {
    any.add(any.text.empty() ? "(" : " OR ");
    const Index& index = *alternative.index;
    const Sql is_one = any_of(unindexed(alternative.column), alternative.values);
    if (!index.table.empty()) {
      any.add("EXISTS (SELECT 1 FROM ").add(index.table).add(" WHERE ");
      any.add(index.table).add(".").add(index.key).add(" = ").add(table_).add(".key AND ");
      any.add(index.where).add(" AND ");
      any.add(is_one).add(")");
    } else if (alternative.condition.text.empty()) {
      any.add(is_one);
    } else {
      any.add("(").add(is_one).add(" AND ").add(alternative.condition).add(")");
    }
  }
  any.add(")");
  if (!filter.excluded.condition.text.empty()) any.add(" AND ").add(filter.excluded.condition);
  return any;
}

// The values of a closed set that its filter selects, or all values if there is no filter.
std::vector<Value> Listing::values_of_closed_set(std::string_view column, Served& served) const {
  const auto filter = std::ranges::find_if(filters_, is_on(column));
  if (filter != filters_.end()) {
    served.push_back(&*filter);
    return filter->alternatives.front().values;
  }
  std::vector<Value> codes(count_values_(column));
  for (std::size_t code = 0; code < codes.size(); ++code) {
    codes[code] = Value::of(static_cast<std::int64_t>(code));
  }
  return codes;
}

AccessPath Listing::path(const Alternative& alternative, Served& served) const {
  const Index& index = *alternative.index;
  AccessPath path;
  path.index = &index;
  path.table = index.table.empty() ? table_ : index.table;
  path.range = {std::max(range_.from, alternative.from), range_.before};
  const auto add = [&](std::string_view column, std::vector<Value> values) {
    path.condition.append(" AND ").append(column).append(" = ?");
    path.dimensions.push_back(std::move(values));
  };
  for (const std::string_view column : db::split_select_list(index.columns)) {
    if (column == index.time) break;
    if (column == customer_column) {
      if (!names_customers(index)) continue;
      add(column, ownership_.customers);
    } else if (column == alternative.column) {
      add(column, alternative.values);
    } else {
      add(column, values_of_closed_set(column, served));
    }
  }
  if (!index.where.empty()) path.condition.append(" AND ").append(index.where);
  if (ownership_.is_restricted && !index.columns.starts_with(customer_column)) {
    path.filter.add(" AND ").add(any_of(unindexed(customer_column), ownership_.customers));
  }
  if (!alternative.condition.text.empty()) path.filter.add(" AND ").add(alternative.condition);
  return path;
}

Sql Listing::conditions_besides(const Served& served, std::size_t paths) const {
  Sql all;
  for (const ListFilter& filter : filters_) {
    const auto count = std::ranges::count(served, &filter);
    if (count == 0 || std::cmp_less(count, paths)) all.add(" AND ").add(condition(filter));
  }
  for (const Sql& condition : conditions_) all.add(" AND ").add(condition);
  return all;
}

Sql Listing::selection() const {
  Sql selection{"SELECT " + columns_, {}};
  if (column_value_ && columns_.find('?') != std::string::npos) {
    selection.values.push_back(*column_value_);
  }
  return selection;
}

PageRows Listing::run(const PageQuery& page) const {
  // The most selective filter with an index drives.
  const auto cost = [](const ListFilter& filter) {
    std::size_t values = 0;
    for (const Alternative& alternative : filter.alternatives) values += alternative.values.size();
    return std::pair(filter.selectivity, values);
  };
  const ListFilter everything{Selectivity::condition, {{&by_time_, {}, {}}}};
  const ListFilter& driving =
      filters_.empty() ? everything : *std::ranges::min_element(filters_, {}, cost);
  if (prefix_ && driving.selectivity > Selectivity::prefix) {
    if (auto merge = merge_by_prefix(*prefix_, page)) {
      return at_positions(std::move(*merge), conditions_besides({}, 0), page);
    }
  }
  Served served;
  std::vector<AccessPath> paths;
  std::size_t streams = 0;
  for (const Alternative& alternative : driving.alternatives) {
    paths.push_back(path(alternative, served));
    served.push_back(&driving);
    streams += paths.back().stream_count();
  }
  if (streams == 0) return {};
  const Sql conditions = conditions_besides(served, paths.size());
  if (!driving.excluded.alternatives.empty()) {
    std::vector<AccessPath> excluded;
    excluded.reserve(driving.excluded.alternatives.size());
    for (const Alternative& alternative : driving.excluded.alternatives) {
      excluded.push_back(path(alternative, served));
    }
    return at_positions(Difference(page.order, merge_streams(connection_, std::move(paths), page),
                                   merge_streams(connection_, std::move(excluded), page)),
                        conditions, page);
  }
  if (driving.may_overlap || streams > max_joined_streams ||
      streams * conditions.values.size() > max_joined_values) {
    return at_positions(merge_streams(connection_, std::move(paths), page), conditions, page);
  }
  if (auto rows = connection_.rows_by_key(table_, columns_)) {
    return {join(paths, {"SELECT ", {}}, conditions, page), *std::move(rows), page.max_rows};
  }
  return PageRows(join(paths, selection().add(", "), conditions, page));
}

PageRows Listing::at_positions(PageRows::Positions positions, const Sql& conditions,
                               const PageQuery& page) const {
  if (conditions.text.empty()) {
    if (auto rows = connection_.rows_by_key(table_, columns_)) {
      return {std::move(positions), *std::move(rows), page.max_rows};
    }
  }
  Sql row = selection();
  row.add(" FROM ").add(table_).add(" WHERE true").add(conditions);
  row.add(" AND key = ?", Value::null());
  return {std::move(positions), connection_, std::move(row), page.max_rows};
}

// Reads all streams with one statement.
db::Query Listing::join(const std::vector<AccessPath>& paths, const Sql& selection,
                        const Sql& conditions, const PageQuery& page) const {
  Sql sql;
  for (const AccessPath& path : paths) {
    const StreamSelect select(path, selection, conditions, page.order, page.position.has_value());
    for (std::size_t stream = 0; stream < path.stream_count(); ++stream) {
      if (!sql.text.empty()) sql.add(" UNION ALL ");
      sql.add(select.text());
      select.add_values(stream, page.position, sql.values);
    }
  }
  sql.add(order_and_limit(by_time_, page.order), Value::of(page.max_rows));
  return sql.query(connection_);
}

// Returns the positions of all rows with the prefix; nullopt if they are too many.
std::optional<Merge> Listing::merge_by_prefix(const Prefix& prefix, const PageQuery& page) const {
  const bool is_by_customer = names_customers(*prefix.index);
  std::vector<Position> found;
  for (const Value& customer : is_by_customer ? ownership_.customers : std::vector{Value::null()}) {
    Sql sql{"SELECT created_at, key FROM " + std::string(table_) + " WHERE ", {}};
    if (is_by_customer) sql.add("customer_id = ? AND ", customer);
    sql.add(prefix.column).add(prefix.range);
    sql.add(" LIMIT ?", Value::of(max_rows_of_prefix + 1 - std::ssize(found)));
    db::Query rows = sql.query(connection_);
    while (rows.step()) found.push_back({rows.column(0).integer, rows.column(1).integer});
    if (std::ssize(found) > max_rows_of_prefix) return std::nullopt;
  }
  const IsLater is_later{page.order};
  std::erase_if(found, [&](const Position& position) {
    return position.created_at < range_.from || position.created_at >= range_.before ||
           (page.position && !is_later(position, *page.position));
  });
  std::ranges::sort(
      found, [&](const Position& left, const Position& right) { return is_later(right, left); });
  return Merge(page.order, 1,
               [found = std::move(found)](std::size_t, const std::optional<Position>& after,
                                          std::int64_t, std::vector<Position>& out) {
                 if (!after) out = found;
               });
}

std::optional<db::TableScan> Listing::table_scan(std::int64_t from, std::int64_t before) const {
  if (!conditions_.empty()) return std::nullopt;
  db::TableScan scan{table_, db::split_select_list(columns_), from, before, {}};
  const auto add = [&](std::string_view column, const std::vector<Value>& values) {
    std::vector<std::int64_t> numbers;
    for (const Value& value : values) {
      if (value.kind != Value::Kind::integer) return false;
      numbers.push_back(value.integer);
    }
    scan.conditions.push_back({column, std::move(numbers)});
    return true;
  };
  if (ownership_.is_restricted && !add(customer_column, ownership_.customers)) return std::nullopt;
  for (const ListFilter& filter : filters_) {
    if (filter.alternatives.size() != 1 || !filter.excluded.condition.text.empty()) {
      return std::nullopt;
    }
    const Alternative& only = filter.alternatives.front();
    if (!only.index->table.empty() || !only.condition.text.empty() ||
        !add(only.column, only.values)) {
      return std::nullopt;
    }
  }
  if (range_ != TimeRange{}) {
    scan.conditions.push_back({by_time_.time, {range_.from, range_.before}, true});
  }
  return scan;
}

std::int64_t Listing::newest_key() const {
  db::Query newest = connection_.query("SELECT max(key) FROM " + std::string(table_));
  return newest.step() ? newest.column(0).integer : 0;
}

std::optional<std::int64_t> Listing::first_key(std::int64_t from) const {
  db::Query first = connection_.query("SELECT key FROM " + std::string(table_) +
                                      " WHERE key >= ?1 ORDER BY key LIMIT 1");
  first.bind(1, Value::of(from));
  return first.step() ? std::optional(first.column(0).integer) : std::nullopt;
}

db::Query Listing::scan(std::int64_t from, std::int64_t before) const {
  if (const auto scan = table_scan(from, before)) {
    if (auto rows = connection_.scan(*scan)) return std::move(*rows);
  }
  const std::string key(by_time_.key);
  Sql sql = selection();
  sql.add(" FROM ").add(table_).add(" WHERE ");
  sql.add(key + " >= ?", Value::of(from)).add(" AND " + key + " < ?", Value::of(before));
  if (ownership_.is_restricted) {
    sql.add(" AND ").add(any_of(unindexed(customer_column), ownership_.customers));
  }
  sql.add(conditions_besides({}, 0));
  if (range_ != TimeRange{}) {
    const std::string time = unindexed(by_time_.time);
    sql.add(" AND " + time + " >= ?", Value::of(range_.from));
    sql.add(" AND " + time + " < ?", Value::of(range_.before));
  }
  return sql.add(" ORDER BY " + key).query(connection_);
}

}  // namespace comptroller::store
