#include "store/streams.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace comptroller::store {

namespace {

// Reads the positions of the streams of several paths.
class StreamReader {
 public:
  StreamReader(db::Connection& connection, std::vector<AccessPath> paths, const PageQuery& page)
      : connection_(connection), paths_(std::move(paths)), start_(page.position) {
    for (const AccessPath& path : paths_) {
      first_.emplace_back(path, columns_, conditions_, page.order, false);
      behind_.emplace_back(path, columns_, conditions_, page.order, true);
      ends_.push_back(order_and_limit(*path.index, page.order));
    }
  }

  std::size_t stream_count() const {
    std::size_t count = 0;
    for (const AccessPath& path : paths_) count += path.stream_count();
    return count;
  }

  void read(std::size_t stream, const std::optional<Position>& after, std::int64_t limit,
            std::vector<Position>& out) {
    std::size_t path = 0;
    for (; stream >= paths_[path].stream_count(); ++path) stream -= paths_[path].stream_count();
    const std::optional<Position>& position = after ? after : start_;
    const StreamSelect& select = (position ? behind_ : first_)[path];
    Sql sql{select.text() + ends_[path], {}};
    select.add_values(stream, position, sql.values);
    sql.values.push_back(Value::of(limit));
    db::Query rows = sql.query(connection_);
    while (rows.step()) out.push_back({rows.column(0).integer, rows.column(1).integer});
  }

 private:
  db::Connection& connection_;
  std::vector<AccessPath> paths_;
  std::optional<Position> start_;
  Sql columns_{"SELECT ", {}};
  Sql conditions_;
  std::vector<StreamSelect> first_;
  std::vector<StreamSelect> behind_;
  std::vector<std::string> ends_;
};

}  // namespace

void TimeRange::narrow(Bound bound, Timestamp time) {
  const std::int64_t at = time.microseconds;
  if (bound == Bound::before) before = std::min(before, at);
  if (bound == Bound::until || bound == Bound::at) before = std::min(before, at + 1);
  if (bound == Bound::from || bound == Bound::at) from = std::max(from, at);
  if (bound == Bound::after) from = std::max(from, at + 1);
}

std::size_t AccessPath::stream_count() const {
  std::size_t count = 1;
  for (const auto& values : dimensions) count *= values.size();
  return count;
}

StreamSelect::StreamSelect(const AccessPath& path, const Sql& columns, const Sql& conditions,
                           Order order, bool is_behind_position)
    : path_(path), columns_(columns), conditions_(conditions), order_(order) {
  const std::string time(path.index->time);
  const std::string key(path.index->key);
  const std::string start =
      columns.text + time + ", " + key + " FROM " + std::string(path.table) + " WHERE " + time;
  const std::string end = path.condition + path.filter.text + conditions.text;
  if (is_behind_position) {
    text_ = start + " = ? AND " + key + (order == Order::descending ? " < ?" : " > ?") + end +
            " UNION ALL ";
  }
  text_ += start + " >= ? AND " + time + " < ?" + end;
}

void StreamSelect::add_values(std::size_t stream, const std::optional<Position>& position,
                              std::vector<Value>& out) const {
  const auto append = [&](const Sql& sql) {
    out.insert(out.end(), sql.values.begin(), sql.values.end());
  };
  const auto add = [&](std::int64_t first, std::int64_t second) {
    append(columns_);
    out.push_back(Value::of(first));
    out.push_back(Value::of(second));
    std::size_t combination = stream;
    for (const auto& values : path_.dimensions) {
      out.push_back(values[combination % values.size()]);
      combination /= values.size();
    }
    append(path_.filter);
    append(conditions_);
  };
  TimeRange beyond = path_.range;
  if (position) {
    add(position->created_at, position->key);
    const Timestamp time{position->created_at};
    beyond.narrow(order_ == Order::descending ? Bound::before : Bound::after, time);
  }
  add(beyond.from, beyond.before);
}

std::string order_and_limit(const Index& index, Order order) {
  const std::string direction = order == Order::descending ? " DESC" : "";
  return " ORDER BY " + std::string(index.time) + direction + ", " + std::string(index.key) +
         direction + " LIMIT ?";
}

Merge merge_streams(db::Connection& connection, std::vector<AccessPath> paths,
                    const PageQuery& page) {
  const auto reader = std::make_shared<StreamReader>(connection, std::move(paths), page);
  return {page.order, reader->stream_count(),
          [reader](auto&&... what) { reader->read(std::forward<decltype(what)>(what)...); }};
}

}  // namespace comptroller::store
