#include "store/listing.hpp"

#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>

namespace comptroller::store {

namespace {

// SQLite joins at most 500 SELECTs, and a cursor doubles them.
constexpr std::size_t most_drivers = 200;

Condition any_of(const std::vector<Condition>& conditions) {
  Condition any;
  for (const Condition& condition : conditions) {
    any.sql += any.sql.empty() ? "(" : " OR ";
    any.sql += "(" + condition.sql + ")";
    any.values.insert(any.values.end(), condition.values.begin(), condition.values.end());
  }
  any.sql += ')';
  return any;
}

}  // namespace

void bound(TimeRange& range, const CreatedAtBounds& bounds) {
  if (bounds.lt) range.earlier_than(*bounds.lt);
  if (bounds.lte) range.at_most(*bounds.lte);
  if (bounds.eq) {
    range.at_least(*bounds.eq);
    range.at_most(*bounds.eq);
  }
  if (bounds.gte) range.at_least(*bounds.gte);
  if (bounds.gt) range.after(*bounds.gt);
}

void Listing::choose(std::vector<Condition> conditions, bool is_by_customer,
                     std::optional<Condition> as_filter) {
  // A value that is named twice selects its rows once.
  std::vector<Condition> distinct;
  for (Condition& condition : conditions) {
    if (std::ranges::find(distinct, condition) == distinct.end()) {
      distinct.push_back(std::move(condition));
    }
  }
  if (distinct.empty()) return;
  if (!has_choice_) {
    has_choice_ = true;
    choices_ = std::move(distinct);
    is_by_customer_ = is_by_customer;
  } else if (as_filter) {
    filters_.push_back(*std::move(as_filter));
  } else {
    // A unary plus keeps the database from driving by this column.
    for (Condition& condition : distinct) condition.sql.insert(0, 1, '+');
    filters_.push_back(any_of(distinct));
  }
}

std::vector<Condition> Listing::drivers() const {
  std::vector<Condition> drivers;
  const std::vector<Condition> everything{Condition{"1", {}}};
  for (const Condition& choice : has_choice_ ? choices_ : everything) {
    const bool is_by_customer = is_by_customer_ && choice.is_by_customer;
    if (!is_by_customer && !ownership_.is_restricted) {
      drivers.push_back(choice);
      continue;
    }
    for (const std::int64_t customer : ownership_.customers) {
      Condition& driver = drivers.emplace_back(choice);
      driver.sql += (is_by_customer ? " AND " : " AND +") + customer_id_ + " = ?";
      driver.values.push_back(Value::of(customer));
    }
  }
  if (drivers.empty()) return {{"0", {}}};  // no customer at all
  return drivers;
}

std::string Listing::number(const Condition& condition) {
  if (condition.values.empty()) return condition.sql;
  std::string numbered;
  auto value = condition.values.begin();
  for (const char character : condition.sql) {
    numbered += character;
    if (character != '?') continue;
    bound_.push_back(*value++);
    numbered += std::to_string(bound_.size());
  }
  return numbered;
}

std::string Listing::number_filters() {
  std::string numbered;
  for (const Condition& filter : filters_) numbered += " AND " + number(filter);
  return numbered;
}

db::Query Listing::run(db::Connection& connection, Order order,
                       const std::optional<Position>& position, std::int64_t most_rows) {
  const Condition columns{columns_ + ", ", column_values_};
  const Page page{order, position, most_rows};
  const std::vector<Condition> all = drivers();
  if (all.size() <= most_drivers) return select(connection, columns, all, page);
  if (key_ != "key") {  // a join may show a row under several keys: one pass over the choices
    const Condition any = has_choice_ ? any_of(choices_) : Condition{"1", {}};
    return select(connection, columns, std::span(&any, 1), page);
  }
  Condition found{"key IN (", merge(connection, all, page)};
  for (std::size_t count = 0; count < found.values.size(); ++count) found.sql += "?,";
  found.sql += "NULL)";
  bound_.clear();
  const std::string sql = "SELECT " + number(columns) + "created_at, key FROM " + table_ +
                          " WHERE " + number(found) + order_by(column_count_, page);
  return bind_all(connection.query(sql));
}

// The keys of a page: the next row of each driver competes with those of the others.
std::vector<Value> Listing::merge(db::Connection& connection, const std::vector<Condition>& drivers,
                                  Page page) {
  struct Next {
    Position position;
    std::size_t driver = 0;
  };
  const bool is_descending = page.order == Order::descending;
  const auto comes_later = [is_descending](const Next& left, const Next& right) {
    const auto one = std::tie(left.position.created_at, left.position.key);
    const auto other = std::tie(right.position.created_at, right.position.key);
    return is_descending ? one < other : other < one;
  };
  std::priority_queue<Next, std::vector<Next>, decltype(comes_later)> next(comes_later);
  const auto most_rows = static_cast<std::size_t>(std::exchange(page.most_rows, 1));
  const auto push_next = [&](std::size_t driver) {
    db::Query row = select(connection, {}, std::span(&drivers[driver], 1), page);
    if (row.step()) next.push({{row.column(0).integer, row.column(1).integer}, driver});
  };
  for (std::size_t driver = 0; driver < drivers.size(); ++driver) push_next(driver);
  std::vector<Value> keys;
  while (!next.empty() && keys.size() < most_rows) {
    const Next first = next.top();
    next.pop();
    keys.push_back(Value::of(first.position.key));
    page.position = first.position;
    push_next(first.driver);
  }
  return keys;
}

std::string Listing::order_by(std::size_t columns, const Page& page) {
  const std::string direction = page.order == Order::descending ? " DESC" : "";
  return " ORDER BY " + std::to_string(columns + 1) + direction + ", " +
         std::to_string(columns + 2) + direction +
         number({" LIMIT ?", {Value::of(page.most_rows)}});
}

// `columns` ends in a comma unless there are none.
db::Query Listing::select(db::Connection& connection, const Condition& columns,
                          std::span<const Condition> drivers, const Page& page) {
  const bool is_descending = page.order == Order::descending;
  const std::optional<Position>& position = page.position;
  TimeRange range = range_;
  if (position && is_descending) range.before = std::min(range.before, position->created_at);
  if (position && !is_descending) range.from = std::max(range.from, position->created_at + 1);

  // Parameters are numbered, so that what all SELECTs share is bound once.
  bound_.clear();
  const std::string select =
      "SELECT " + number(columns) + created_at_ + ", " + key_ + " FROM " + table_ + " WHERE ";
  const std::string filters = number_filters();
  const std::string beyond = " AND " + number({created_at_ + " >= ? AND " + created_at_ + " < ?",
                                               {Value::of(range.from), Value::of(range.before)}});
  std::string same_moment;
  if (position) {
    same_moment =
        " AND " + number({created_at_ + " = ? AND " + key_ + (is_descending ? " < ?" : " > ?"),
                          {Value::of(position->created_at), Value::of(position->key)}});
  }
  std::string sql;
  for (const Condition& driver : drivers) {
    const std::string driven = number(driver);
    for (const std::string& time : {same_moment, beyond}) {
      if (time.empty()) continue;
      if (!sql.empty()) sql += " UNION ALL ";
      sql.append(select).append(driven).append(filters).append(time);
    }
  }
  return bind_all(connection.query(sql + order_by(columns.sql.empty() ? 0 : column_count_, page)));
}

db::Query Listing::scan(db::Connection& connection, std::int64_t from, std::int64_t before) {
  bound_.clear();
  std::string sql =
      "SELECT " + number({columns_, column_values_}) + " FROM " + table_ + " WHERE " +
      number({key_ + " >= ? AND " + key_ + " < ?", {Value::of(from), Value::of(before)}});
  // A unary plus keeps every other column from driving: the scan is in order of the key.
  if (ownership_.is_restricted) {
    const std::int64_t customer = ownership_.customers.empty() ? 0 : ownership_.customers.front();
    sql += " AND " + number({"+" + customer_id_ + " = ?", {Value::of(customer)}});
  }
  if (has_choice_) sql += " AND " + number(any_of(choices_));
  sql += number_filters();
  if (range_.from != TimeRange{}.from || range_.before != TimeRange{}.before) {
    sql += " AND " + number({"+" + created_at_ + " >= ? AND +" + created_at_ + " < ?",
                             {Value::of(range_.from), Value::of(range_.before)}});
  }
  return bind_all(connection.query(sql + " ORDER BY " + key_));
}

db::Query Listing::bind_all(db::Query query) const {
  for (std::size_t index = 0; index < bound_.size(); ++index) {
    query.bind(static_cast<int>(index) + 1, bound_[index]);
  }
  return query;
}

}  // namespace comptroller::store
