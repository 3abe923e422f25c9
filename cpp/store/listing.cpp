#include "store/listing.hpp"

#include <tuple>
#include <utility>

namespace comptroller::store {

namespace {

// Streams that one statement merges; each row passes through half of them, so more of them are
// merged here. With the values of filters, which each stream repeats.
constexpr std::size_t most_joined_streams = 16;
constexpr std::size_t most_joined_values = 256;
// Groups that are found by the beginning of their name and then sorted.
constexpr std::int64_t most_of_prefix = 1000;
constexpr std::string_view customer_column = "customer_id";

std::vector<std::string_view> split(std::string_view columns) {
  std::vector<std::string_view> parts;
  while (!columns.empty()) {
    const std::size_t end = std::min(columns.find(", "), columns.size());
    parts.push_back(columns.substr(0, end));
    columns.remove_prefix(std::min(end + 2, columns.size()));
  }
  return parts;
}

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

std::optional<Value> Listing::key_of(std::string_view table, const Value& id) const {
  std::string sql = "SELECT key FROM ";
  sql.append(table).append(" WHERE id = ?");
  db::Query query = connection_.query(sql);
  if (!query.bind(1, id).step()) return std::nullopt;
  return Value::of(query.column(0).integer);
}

void Listing::add_prefix(const Index& index, std::string_view column, std::string_view prefix,
                         std::size_t longest) {
  prefix_ = Prefix{&index, column, parameters_.own(prefix),
                   parameters_.own(last_with_prefix(prefix, longest))};
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
  return any.add(")");
}

std::vector<Value> Listing::customers() const {
  std::vector<Value> customers(ownership_.customers.size());
  std::ranges::transform(ownership_.customers, customers.begin(),
                         [](std::int64_t key) { return Value::of(key); });
  return customers;
}

// The filter that an index serves with the fewest rows; none without one.
const ListFilter* Listing::driving_filter() const {
  const auto cost = [](const ListFilter& filter) {
    std::size_t values = 0;
    for (const Alternative& alternative : filter.alternatives) values += alternative.values.size();
    return std::pair(filter.selectivity, values);
  };
  const auto least = std::ranges::min_element(filters_, {}, cost);
  return least == filters_.end() ? nullptr : &*least;
}

// The values of the filter of a closed set, else all that there are.
std::vector<Value> Listing::values_of_closed_set(std::string_view column, Served& served) const {
  const auto filter = std::ranges::find_if(filters_, is_on(column));
  if (filter != filters_.end()) {
    served.push_back(&*filter);
    return filter->alternatives.front().values;
  }
  std::vector<Value> codes(count_words_(column));
  for (std::size_t code = 0; code < codes.size(); ++code) {
    codes[code] = Value::of(static_cast<std::int64_t>(code));
  }
  return codes;
}

AccessPath Listing::path(const Index& index, const Alternative* alternative, bool condition_value,
                         Served& served) const {
  AccessPath path;
  path.index = &index;
  path.table = index.table.empty() ? table_ : index.table;
  const auto add = [&](std::string_view column, std::vector<Value> values) {
    path.condition.append(" AND ").append(column).append(" = ?");
    path.dimensions.push_back(std::move(values));
  };
  for (const std::string_view column : split(index.columns)) {
    if (column == index.time) break;
    if (column == customer_column) {
      if (!names_customers(index)) continue;
      add(column, customers());
    } else if (alternative != nullptr && column == alternative->column) {
      add(column, alternative->values);
    } else if (column == condition_column_) {
      path.condition.append(" AND ").append(column).append(" = ");
      path.condition.append(condition_value ? "true" : "false");
    } else {
      std::vector<Value> codes = values_of_closed_set(column, served);
      const std::int64_t least = alternative == nullptr ? 0 : alternative->least_code;
      std::erase_if(codes, [&](const Value& code) { return code.integer < least; });
      add(column, std::move(codes));
    }
  }
  if (!index.where.empty()) path.condition.append(" AND ").append(index.where);
  if (ownership_.is_restricted && !index.columns.starts_with(customer_column)) {
    path.filter.add(" AND ").add(any_of(unindexed(customer_column), customers()));
  }
  if (alternative != nullptr && !alternative->condition.text.empty()) {
    path.filter.add(" AND ").add(alternative->condition);
  }
  return path;
}

std::vector<AccessPath> Listing::paths(const ListFilter* driving, Served& served) const {
  std::vector<AccessPath> paths;
  for (const bool condition_value : condition_values_) {
    if (driving == nullptr) {
      paths.push_back(path(by_time_, nullptr, condition_value, served));
      continue;
    }
    for (const Alternative& alternative : driving->alternatives) {
      paths.push_back(path(*alternative.index, &alternative, condition_value, served));
      served.push_back(driving);
    }
  }
  return paths;
}

Sql Listing::conditions_besides(const Served& served, std::size_t paths, bool has_prefix) const {
  Sql all;
  for (const ListFilter& filter : filters_) {
    const auto count = std::ranges::count(served, &filter);
    if (count == 0 || std::cmp_less(count, paths)) all.add(" AND ").add(condition(filter));
  }
  if (prefix_ && !has_prefix) {
    all.add(" AND ").add(unindexed(prefix_->column));
    all.add(" BETWEEN ?", prefix_->first).add(" AND ?", prefix_->last);
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
  const ListFilter* driving = driving_filter();
  if (prefix_ && (driving == nullptr || driving->selectivity > Selectivity::prefix)) {
    if (auto merge = merge_by_prefix(*prefix_, page)) {
      return {connection_, std::move(merge), by_key(conditions_besides({}, 0, true)),
              page.most_rows};
    }
  }
  Served served;
  std::vector<AccessPath> paths = this->paths(driving, served);
  const Sql conditions = conditions_besides(served, paths.size(), false);
  std::size_t streams = 0;
  for (const AccessPath& path : paths) streams += path.stream_count();
  const bool may_join = driving == nullptr || !driving->may_overlap;
  if (streams == 0) return {};
  if (may_join && streams <= most_joined_streams &&
      streams * conditions.values.size() <= most_joined_values) {
    return join(paths, conditions, page);
  }
  return {connection_, merge_streams(connection_, std::move(paths), range_, page),
          by_key(conditions), page.most_rows};
}

RowsByKey Listing::by_key(const Sql& conditions) const {
  const std::string table(table_);
  RowsByKey rows;
  rows.sql = selection().add(", ").add(by_time_.time).add(", key FROM");
  rows.keys = rows.sql.values.size();
  rows.key_column = static_cast<int>(column_count_) + 1;
  rows.may_pass_over = !conditions.text.empty();
  rows.sql.add(" (SELECT value AS place FROM json_each(?)) AS page", Value::null())
      .add(" CROSS JOIN " + table + " ON " + table + ".key = page.place WHERE true")
      .add(conditions);
  return rows;
}

// One statement for all streams.
PageRows Listing::join(const std::vector<AccessPath>& paths, const Sql& conditions,
                       const PageQuery& page) const {
  const Sql columns = selection().add(", ");
  Sql sql;
  for (const AccessPath& path : paths) {
    const StreamSelect select(path, columns, conditions, range_, page);
    for (std::size_t stream = 0; stream < path.stream_count(); ++stream) {
      if (!sql.text.empty()) sql.add(" UNION ALL ");
      sql.add(select.text());
      select.add_values(stream, sql.values);
    }
  }
  sql.add(order_and_limit(column_count_, page.order), Value::of(page.most_rows));
  return PageRows(sql.query(connection_));
}

// The positions of all rows that have the prefix, if they are few.
std::unique_ptr<Merge> Listing::merge_by_prefix(const Prefix& prefix, const PageQuery& page) const {
  const Index& index = *prefix.index;
  std::vector<std::int64_t> customers{0};
  const bool is_by_customer = names_customers(index);
  if (is_by_customer) customers = ownership_.customers;
  std::vector<Position> found;
  std::int64_t left = most_of_prefix + 1;
  for (const std::int64_t customer : customers) {
    Sql sql{"SELECT created_at, key FROM " + std::string(table_) + " WHERE ", {}};
    if (is_by_customer) sql.add("customer_id = ? AND ", Value::of(customer));
    sql.add(prefix.column).add(" BETWEEN ?", prefix.first).add(" AND ?", prefix.last);
    sql.add(" LIMIT ?", Value::of(left));
    db::Query rows = sql.query(connection_);
    while (rows.step()) {
      if (--left == 0) return nullptr;
      found.push_back({rows.column(0).integer, rows.column(1).integer});
    }
  }
  std::erase_if(found, [&](const Position& position) {
    if (position.created_at < range_.from || position.created_at >= range_.before) return true;
    if (!page.position) return false;
    return page.order == Order::descending ? position >= *page.position
                                           : position <= *page.position;
  });
  return std::make_unique<Merge>(page.order, std::move(found));
}

db::Query Listing::scan(std::int64_t from, std::int64_t before) const {
  const std::string key(by_time_.key);
  Sql sql = selection();
  sql.add(" FROM ").add(table_).add(" WHERE ");
  sql.add(key + " >= ?", Value::of(from)).add(" AND " + key + " < ?", Value::of(before));
  if (ownership_.is_restricted) {
    sql.add(" AND ").add(any_of(unindexed(customer_column), customers()));
  }
  if (condition_values_.size() == 1 && !condition_column_.empty()) {
    sql.add(" AND ").add(condition_column_);
  }
  sql.add(conditions_besides({}, 0, false));
  if (range_ != TimeRange{}) {
    const std::string time = unindexed(by_time_.time);
    sql.add(" AND " + time + " >= ?", Value::of(range_.from));
    sql.add(" AND " + time + " < ?", Value::of(range_.before));
  }
  return sql.add(" ORDER BY " + key).query(connection_);
}

}  // namespace comptroller::store
