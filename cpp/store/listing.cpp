#include "store/listing.hpp"

#include <algorithm>

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

void Listing::choose(std::vector<Condition> conditions, bool is_by_customer) {
  if (conditions.empty()) return;
  if (!has_choice_) {
    has_choice_ = true;
    choices_ = std::move(conditions);
    is_by_customer_ = is_by_customer;
    return;
  }
  // A unary plus keeps the database from driving by this column.
  for (Condition& condition : conditions) condition.sql.insert(0, 1, '+');
  filters_.push_back(any_of(conditions));
}

std::vector<Condition> Listing::drivers() const {
  std::vector<Condition> drivers;
  const std::vector<Condition> everything{Condition{"1", {}}};
  for (const Condition& choice : has_choice_ ? choices_ : everything) {
    if (!is_by_customer_ && !ownership_.is_restricted) {
      drivers.push_back(choice);
      continue;
    }
    for (const std::int64_t customer : ownership_.customers) {
      Condition& driver = drivers.emplace_back(choice);
      driver.sql += (is_by_customer_ ? " AND " : " AND +") + customer_id_ + " = ?";
      driver.values.push_back(Value::of(customer));
    }
  }
  if (drivers.size() <= most_drivers) return drivers;
  // Too many to merge (an operator's list over hundreds of customers): one pass over the choices.
  return {has_choice_ ? any_of(choices_) : Condition{"1", {}}};
}

void Listing::append_select(std::string& sql, const Condition& driver, const std::string& time,
                            std::initializer_list<Value> times) {
  if (!sql.empty()) sql += " UNION ALL ";
  sql += "SELECT " + columns_ + ", " + created_at_ + ", " + key_ + " FROM " + table_ + " WHERE " +
         driver.sql;
  bound_.insert(bound_.end(), column_values_.begin(), column_values_.end());
  bound_.insert(bound_.end(), driver.values.begin(), driver.values.end());
  for (const Condition& filter : filters_) {
    sql += " AND " + filter.sql;
    bound_.insert(bound_.end(), filter.values.begin(), filter.values.end());
  }
  sql += " AND " + time;
  bound_.insert(bound_.end(), times);
}

db::Query Listing::run(db::Connection& connection, Order order,
                       const std::optional<Position>& position, std::int64_t most_rows) {
  const bool is_descending = order == Order::descending;
  TimeRange range = range_;
  if (position && is_descending) range.before = std::min(range.before, position->created_at);
  if (position && !is_descending) range.from = std::max(range.from, position->created_at + 1);
  const std::string beyond = created_at_ + " >= ? AND " + created_at_ + " < ?";
  const std::string same_moment =
      created_at_ + " = ? AND " + key_ + (is_descending ? " < ?" : " > ?");

  std::string sql;
  bound_.clear();
  for (const Condition& driver : drivers()) {
    if (position) {
      append_select(sql, driver, same_moment,
                    {Value::of(position->created_at), Value::of(position->key)});
    }
    append_select(sql, driver, beyond, {Value::of(range.from), Value::of(range.before)});
  }
  if (sql.empty()) {  // no customer at all
    append_select(sql, {"0", {}}, beyond, {Value::of(range.from), Value::of(range.before)});
  }
  const std::string direction = is_descending ? " DESC" : "";
  sql += " ORDER BY " + std::to_string(column_count_ + 1) + direction + ", " +
         std::to_string(column_count_ + 2) + direction + " LIMIT ?";
  bound_.push_back(Value::of(most_rows));

  return bind_all(connection.query(sql));
}

db::Query Listing::scan(db::Connection& connection, std::int64_t from, std::int64_t before) {
  std::string sql =
      "SELECT " + columns_ + " FROM " + table_ + " WHERE " + key_ + " >= ? AND " + key_ + " < ?";
  bound_ = column_values_;
  bound_.insert(bound_.end(), {Value::of(from), Value::of(before)});
  const auto add = [&](const Condition& condition) {
    sql += " AND " + condition.sql;
    bound_.insert(bound_.end(), condition.values.begin(), condition.values.end());
  };
  // A unary plus keeps every other column from driving: the scan is in order of the key.
  if (ownership_.is_restricted) {
    const bool is_known = !ownership_.customers.empty();
    add({"+" + customer_id_ + " = ?", {Value::of(is_known ? ownership_.customers.front() : 0)}});
  }
  if (has_choice_) add(any_of(choices_));
  for (const Condition& filter : filters_) add(filter);
  if (range_.from != TimeRange{}.from || range_.before != TimeRange{}.before) {
    add({"+" + created_at_ + " >= ? AND +" + created_at_ + " < ?",
         {Value::of(range_.from), Value::of(range_.before)}});
  }
  sql += " ORDER BY " + key_;
  return bind_all(connection.query(sql));
}

db::Query Listing::bind_all(db::Query query) const {
  for (std::size_t index = 0; index < bound_.size(); ++index) {
    query.bind(static_cast<int>(index) + 1, bound_[index]);
  }
  return query;
}

}  // namespace comptroller::store
