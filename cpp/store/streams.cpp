#include "store/streams.hpp"

#include <algorithm>
#include <utility>

namespace comptroller::store {

namespace {

// Whether at most one row has the values of all columns.
bool is_unique(const Index& index) {
  return index.name.empty() && index.columns.find(index.time) == std::string_view::npos;
}

// The streams of several paths, each with the statement for its first rows and that for more.
class StreamReader {
 public:
  StreamReader(db::Connection& connection, std::vector<AccessPath> paths, TimeRange range,
               const PageQuery& page)
      : connection_(connection), paths_(std::move(paths)) {
    const std::string end = order_and_limit(0, page.order);
    PageQuery behind = page;
    behind.position.emplace();
    for (const AccessPath& path : paths_) {
      first_.emplace_back(path, columns_, conditions_, range, page, end);
      more_.emplace_back(path, columns_, conditions_, range, behind, end);
    }
  }

  void read(std::size_t stream, const std::optional<Position>& after, std::int64_t limit,
            std::vector<Position>& out) {
    std::size_t path = 0;
    for (; stream >= paths_[path].stream_count(); ++path) stream -= paths_[path].stream_count();
    if (after && is_unique(*paths_[path].index)) return;
    StreamSelect& select = (after ? more_ : first_)[path];
    if (after) select.set_position(*after);
    values_.clear();
    select.add_values(stream, values_);
    values_.push_back(Value::of(limit));
    db::Query rows = bound_query(connection_, select.text(), values_);
    while (rows.step()) out.push_back({rows.column(0).integer, rows.column(1).integer});
  }

 private:
  db::Connection& connection_;
  std::vector<AccessPath> paths_;
  Sql columns_{"SELECT ", {}};
  Sql conditions_;
  std::vector<StreamSelect> first_;
  std::vector<StreamSelect> more_;
  std::vector<Value> values_;
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
                           TimeRange range, const PageQuery& page, std::string_view end)
    : path_(path),
      columns_(columns),
      conditions_(conditions),
      range_(range),
      position_(page.position),
      is_descending_(page.order == Order::descending) {
  const std::string time(path.index->time);
  const std::string key(path.index->key);
  const std::string start =
      columns.text + time + ", " + key + " FROM " + std::string(path.table) + " WHERE " + time;
  const std::string conditions_text = path.condition + path.filter.text + conditions.text;
  if (position_) {
    text_ = start + " = ? AND " + key + (is_descending_ ? " < ?" : " > ?") + conditions_text +
            " UNION ALL ";
  }
  text_ += start + " >= ? AND " + time + " < ?" + conditions_text;
  text_ += end;
}

void StreamSelect::add_values(std::size_t stream, std::vector<Value>& out) const {
  TimeRange beyond = range_;
  if (position_) {
    add(stream, position_->created_at, position_->key, out);
    if (is_descending_) {
      beyond.before = std::min(beyond.before, position_->created_at);
    } else {
      beyond.from = std::max(beyond.from, position_->created_at + 1);
    }
  }
  add(stream, beyond.from, beyond.before, out);
}

void StreamSelect::add(std::size_t stream, std::int64_t first, std::int64_t second,
                       std::vector<Value>& out) const {
  const auto append = [&](const Sql& sql) {
    out.insert(out.end(), sql.values.begin(), sql.values.end());
  };
  append(columns_);
  out.push_back(Value::of(first));
  out.push_back(Value::of(second));
  for (const auto& values : path_.dimensions) {
    out.push_back(values[stream % values.size()]);
    stream /= values.size();
  }
  append(path_.filter);
  append(conditions_);
}

std::string order_and_limit(std::size_t columns, Order order) {
  const std::string direction = order == Order::descending ? " DESC" : "";
  return " ORDER BY " + std::to_string(columns + 1) + direction + ", " +
         std::to_string(columns + 2) + direction + " LIMIT ?";
}

std::unique_ptr<Merge> merge_streams(db::Connection& connection, std::vector<AccessPath> paths,
                                     TimeRange range, const PageQuery& page) {
  std::size_t count = 0;
  for (const AccessPath& path : paths) count += path.stream_count();
  const auto reader = std::make_shared<StreamReader>(connection, std::move(paths), range, page);
  return std::make_unique<Merge>(
      page.order, count,
      [reader](std::size_t stream, const std::optional<Position>& after, std::int64_t limit,
               std::vector<Position>& out) { reader->read(stream, after, limit, out); });
}

}  // namespace comptroller::store
