#include "store/listing.hpp"

#include <limits>
#include <utility>

#include "db/select_list.hpp"
#include "store/client_lookups.hpp"

namespace comptroller::store {

namespace {

// The most groups with a prefix that are found by the index of names and then sorted.
constexpr std::int64_t max_rows_of_prefix = 1000;
constexpr std::string_view customer_column = "customer_id";
constexpr std::string_view index_separator = ", ";

std::string select_key(std::string_view table) {
  return "SELECT key FROM " + std::string(table) + " WHERE id = ?";
}

auto is_on(std::string_view column) {
  return [column](const ListFilter& filter) {
    return filter.alternatives.size() == 1 && filter.alternatives.front().column == column;
  };
}

std::vector<Value> codes_of_closed_set(std::size_t count) {
  std::vector<Value> codes(count);
  for (std::size_t code = 0; code < count; ++code) {
    codes[code] = Value::of(static_cast<std::int64_t>(code));
  }
  return codes;
}

}  // namespace

std::optional<std::int64_t> Listing::find_symbol(std::string_view text) const {
  return ownership_.is_restricted ? find_symbol_evenly(connection_, text)
                                  : connection_.symbols().find(text);
}

std::optional<std::int64_t> Listing::own_key(std::string_view table, const Value& id) const {
  return find_own_key(connection_, table, id, ownership_.customers.front());
}

void Listing::expect_symbols_of_request(std::span<const std::string_view> texts) const {
  if (ownership_.is_restricted) return expect_symbols(connection_, texts);
  connection_.symbols().find_many(texts);
}

void Listing::expect_keys(std::string_view table, std::size_t count,
                          const std::function<Value(std::size_t)>& id) const {
  const std::string sql =
      ownership_.is_restricted ? select_own_key(connection_, table) : select_key(table);
  connection_.read_ahead(sql, count, [&](std::size_t run) { return std::vector{id(run)}; });
}

Value Listing::key_of(std::string_view table, const Value& id) const {
  if (ownership_.is_restricted) return Value::of(own_key(table, id).value_or(unused_key));
  db::Query query = connection_.query(select_key(table));
  return Value::of(query.bind(1, id).step() ? query.number(0) : unused_key);
}

void Listing::add_group(const Index& index, std::string_view column, std::string_view id) {
  const auto symbol = find_symbol(id);
  Value group = Value::of(symbol.value_or(unused_key));
  if (ownership_.is_restricted &&
      !own_key("payout_groups", Value::of(symbol.value_or(no_symbol)))) {
    if (column != "id") return filter({unindexed(column) + " = ?", {group}});
    group = Value::of(unused_key);
  }
  add({selectivity_of<GroupId>(column), {{&index, column, {group}}}});
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

std::string_view Listing::hint_of(const Index& index) const {
  std::string_view columns = index.columns;
  if (columns.starts_with(customer_column) && !names_customers(index)) {
    columns.remove_prefix(columns.find(index_separator) + index_separator.size());
  }
  return connection_.index_hint(index.table.empty() ? table_ : index.table, columns, index.where);
}

Sql Listing::condition(const ListFilter& filter) const {
  Sql any;
  for (const Alternative& alternative : filter.alternatives) {
    any.add(any.text.empty() ? "(" : " OR ");
    const Index& index = *alternative.index;
    const Sql is_one = any_of(unindexed(alternative.column), alternative.values);
    if (!index.table.empty()) {
      any.add("EXISTS (SELECT 1 FROM ").add(index.table);
      any.add(connection_.index_hint(index.table, index.by_key, index.where)).add(" WHERE ");
      any.add(index.table).add(".").add(index.key).add(" = ").add(table_).add(".key AND ");
      any.add(index.where).add(" AND ");
      any.add(is_one).add(connection_.dialect().end_of_exists).add(")");
    } else {
      any.add(is_one);
    }
  }
  return any.add(")");
}

AccessPath Listing::path(const ListFilter& driving, const Alternative& alternative) const {
  const Index& index = *alternative.index;
  std::vector<const ListFilter*> served{&driving};
  AccessPath path;
  path.index = &index;
  path.table = index.table.empty() ? table_ : index.table;
  path.range = range_;
  const auto add = [&](std::string_view column, std::vector<Value> values) {
    const bool is_condition = column.starts_with('(');
    path.condition.append(" AND ").append(column);
    path.condition.append(is_condition ? connection_.dialect().equals_truth : " = ?");
    path.dimensions.push_back(std::move(values));
  };
  for (const std::string_view column : db::split_select_list(index.columns)) {
    if (column == index.time) break;
    if (column == customer_column) {
      if (!names_customers(index)) continue;
      add(column, ownership_.customers);
    } else if (column == alternative.column) {
      add(column, alternative.values);
    } else if (const auto filter = std::ranges::find_if(filters_, is_on(column));
               filter != filters_.end()) {
      add(column, filter->alternatives.front().values);
      served.push_back(&*filter);
    } else {
      add(column, codes_of_closed_set(count_values_(column)));
    }
  }
  if (!index.where.empty()) path.condition.append(" AND ").append(index.where);
  path.hint = hint_of(index);
  // Not one of the further conditions: a cursor holds the position of a visited row, and must not
  // reveal rows of other customers.
  if (ownership_.is_restricted && !index.columns.starts_with(customer_column)) {
    // PostgreSQL would expect few rows of an expression, and sort them.
    add(connection_.dialect().is_remote ? std::string(customer_column) : unindexed(customer_column),
        ownership_.customers);
  }
  path.further = conditions_besides(served);
  if (!path.further.text.empty() && path.table != table_) {
    Sql row{" AND EXISTS (SELECT 1 FROM ", {}};
    row.add(table_).add(" WHERE ").add(table_).add(".key = ").add(path.table).add(".");
    row.add(index.key).add(path.further);
    path.further = row.add(connection_.dialect().end_of_exists).add(")");
  }
  return path;
}

Sql Listing::conditions_besides(const std::vector<const ListFilter*>& served) const {
  Sql all;
  for (const ListFilter& filter : filters_) {
    if (std::ranges::find(served, &filter) == served.end()) all.add(" AND ").add(condition(filter));
  }
  for (const Sql& condition : conditions_) all.add(" AND ").add(condition);
  return all;
}

Sql Listing::selection() const {
  Sql selection{"SELECT " + columns_ + ", key", {}};
  if (column_value_ && columns_.find('?') != std::string::npos) {
    selection.values.push_back(*column_value_);
  }
  return selection;
}

PageRows Listing::run(const PageQuery& page) const {
  if (connection_.dialect().has_ordered_branches) {
    const ListFilter& driving = most_selective();
    if (!is_by_prefix(driving) && !driving.may_overlap && !column_value_) {
      const auto sql = select_page(connection_.dialect(), paths(driving), table_, columns_, page);
      const auto position = static_cast<int>(db::split_select_list(columns_).size());
      if (sql) return {page, sql->query(connection_), position, query_related(*sql)};
    }
  }
  Candidates visited = candidates(page);
  if (auto row = connection_.rows_by_key(table_, columns_)) {
    return {page, std::move(visited), *std::move(row), 1};
  }
  Sql row = selection();
  row.add(" FROM ").add(table_).add(" WHERE ");
  if (connection_.dialect().is_remote) {
    const auto read = [&](const std::vector<Position>& positions) {
      std::vector<Value> keys;
      keys.reserve(positions.size());
      for (const Position& each : positions) keys.push_back(Value::of(each.key));
      const std::string direction = page.order == Order::desc ? " DESC" : "";
      row.add(any_of("key", keys)).add(" ORDER BY ").add(by_time_.time).add(direction);
      return row.add(", key").add(direction).query(connection_);
    };
    return {page, std::move(visited), read};
  }
  row.add("key = ?", Value::null());
  return {page, std::move(visited), row.query(connection_), static_cast<int>(row.values.size())};
}

std::optional<db::Query> Listing::query_related(const Sql& page) const {
  if (!select_related_) return std::nullopt;
  const Sql keys{"SELECT position_key FROM (" + page.text + ") AS page", page.values};
  db::Query related = select_related_(keys).query(connection_);
  related.run_with_next();
  return related;
}

const ListFilter& Listing::most_selective() const {
  const auto count_values = [](const ListFilter& filter) {
    std::size_t values = 0;
    for (const Alternative& alternative : filter.alternatives) values += alternative.values.size();
    return values;
  };
  // The most selective filter with an index drives.
  const auto cost = [&](const ListFilter& filter) {
    return std::pair(filter.selectivity, count_values(filter));
  };
  return filters_.empty() ? everything_ : *std::ranges::min_element(filters_, {}, cost);
}

bool Listing::is_by_prefix(const ListFilter& driving) const {
  return prefix_ && driving.selectivity > Selectivity::prefix;
}

std::vector<AccessPath> Listing::paths(const ListFilter& driving) const {
  std::vector<AccessPath> paths;
  paths.reserve(driving.alternatives.size());
  for (const Alternative& alternative : driving.alternatives) {
    paths.push_back(path(driving, alternative));
  }
  return paths;
}

Candidates Listing::candidates(const PageQuery& page) const {
  const ListFilter& driving = most_selective();
  if (is_by_prefix(driving)) {
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): a filter by prefix has one
    if (auto found = find_prefix(*prefix_, page)) return *std::move(found);
  }
  return read_streams(connection_, paths(driving), driving.may_overlap, page);
}

std::optional<Candidates> Listing::find_prefix(const Prefix& prefix, const PageQuery& page) const {
  const bool is_by_customer = names_customers(*prefix.index);
  const Sql select = select_candidate(by_time_, conditions_besides({}));
  std::vector<Candidate> found;
  for (const Value& customer : is_by_customer ? ownership_.customers : std::vector{Value::null()}) {
    Sql sql = select;
    sql.add(" FROM ").add(table_).add(hint_of(*prefix.index)).add(" WHERE ");
    if (is_by_customer) sql.add("customer_id = ? AND ", customer);
    sql.add(prefix.column).add(prefix.range);
    sql.add(" LIMIT ?", Value::of(max_rows_of_prefix + 1 - std::ssize(found)));
    db::Query rows = sql.query(connection_);
    while (rows.step()) found.push_back(candidate_of(rows));
    if (std::ssize(found) > max_rows_of_prefix) return std::nullopt;
  }
  const IsLater is_later{page.order};
  std::erase_if(found, [&](const Candidate& row) {
    return row.position.created_at < range_.from || row.position.created_at >= range_.before ||
           (page.position && !is_later(row.position, *page.position));
  });
  std::ranges::sort(
      found, [&](const Position& left, const Position& right) { return is_later(right, left); },
      &Candidate::position);
  return [found = std::move(found), next = std::size_t{0}]() mutable {
    return next < found.size() ? std::optional(found[next++]) : std::nullopt;
  };
}

std::optional<db::TableScan> Listing::table_scan(KeyRange keys) const {
  if (!conditions_.empty()) return std::nullopt;
  db::TableScan scan{table_, db::split_select_list(columns_), keys.from, keys.last, {}};
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
    if (filter.alternatives.size() != 1) return std::nullopt;
    const Alternative& only = filter.alternatives.front();
    if (!only.index->table.empty() || !add(only.column, only.values)) return std::nullopt;
  }
  if (range_ != TimeRange{}) {
    scan.conditions.push_back({by_time_.time, {range_.from, range_.before}, true});
  }
  return scan;
}

namespace {

using Keys = std::numeric_limits<std::int64_t>;

// Returns the `count` keys that begin with the key that a query selects.
std::optional<KeyRange> keys_of(db::Query first, std::int64_t count) {
  if (!first.step()) return std::nullopt;
  const std::int64_t key = first.number(0);
  return KeyRange{key, key > Keys::max() - count ? Keys::max() : key + count - 1};
}

}  // namespace

std::optional<KeyRange> Listing::first_keys(std::int64_t count) const {
  return keys_of(
      connection_.query("SELECT key FROM " + std::string(table_) + " ORDER BY key LIMIT 1"), count);
}

std::optional<KeyRange> Listing::keys_after(std::int64_t key, std::int64_t count) const {
  db::Query first = connection_.query("SELECT key FROM " + std::string(table_) +
                                      " WHERE key > ?1 ORDER BY key LIMIT 1");
  first.bind(1, key);
  return keys_of(std::move(first), count);
}

std::optional<KeyRange> Listing::last_keys(std::int64_t count) const {
  db::Query query =
      connection_.query("SELECT key FROM " + std::string(table_) + " ORDER BY key DESC LIMIT 1");
  if (!query.step()) return std::nullopt;
  const std::int64_t last = query.number(0);
  return KeyRange{last < Keys::min() + count ? Keys::min() : last - count + 1, last};
}

db::Query Listing::scan(KeyRange keys) const {
  if (const auto scan = table_scan(keys)) {
    if (auto rows = connection_.scan(*scan)) return std::move(*rows);
  }
  const std::string key(by_time_.key);
  Sql sql = selection();
  sql.add(" FROM ").add(table_).add(" WHERE ");
  sql.add(key + " >= ?", Value::of(keys.from)).add(" AND " + key + " <= ?", Value::of(keys.last));
  if (ownership_.is_restricted) {
    sql.add(" AND ").add(any_of(unindexed(customer_column), ownership_.customers));
  }
  sql.add(conditions_besides({}));
  if (range_ != TimeRange{}) {
    const std::string time = unindexed(by_time_.time);
    sql.add(" AND " + time + " >= ?", Value::of(range_.from));
    sql.add(" AND " + time + " < ?", Value::of(range_.before));
  }
  return sql.add(" ORDER BY " + key).query_many(connection_);
}

}  // namespace comptroller::store
