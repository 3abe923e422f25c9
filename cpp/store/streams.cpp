#include "store/streams.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace comptroller::store {

namespace {

// The maximum number of streams, together with the values of conditions that each stream repeats,
// that one statement merges. SQLite passes each row through half of the streams, so more streams
// are merged in C++.
constexpr std::size_t max_joined_streams = 16;
constexpr std::size_t max_joined_values = 256;

// Selects the rows of a path's streams with one SELECT, or with two after a position: SQLite
// searches an index only by the first column of a row value comparison.
class StreamSelect {
 public:
  // The path must outlive this object.
  StreamSelect(const AccessPath& path, Order order, bool is_behind_position)
      : path_(path), order_(order), columns_(select_candidate(*path.index, path.further)) {
    const std::string time(path.index->time);
    const std::string start =
        columns_.text + " FROM " + std::string(path.table) + path.hint + " WHERE " + time;
    if (is_behind_position) {
      const std::string key(path.index->key);
      text_ = start + " = ? AND " + key + (order == Order::desc ? " < ?" : " > ?") +
              path.condition + " UNION ALL ";
    }
    text_ += start + " >= ? AND " + time + " < ?" + path.condition;
  }

  const std::string& text() const { return text_; }

  // Appends the values of the parameters; `position` is set if the rows come after a position.
  void add_values(std::size_t stream, const std::optional<Position>& position,
                  std::vector<Value>& out) const {
    const auto add = [&](std::int64_t first, std::int64_t second) {
      out.insert(out.end(), columns_.values.begin(), columns_.values.end());
      out.push_back(Value::of(first));
      out.push_back(Value::of(second));
      std::size_t combination = stream;
      for (const auto& values : path_.dimensions) {
        out.push_back(values[combination % values.size()]);
        combination /= values.size();
      }
    };
    TimeRange beyond = path_.range;
    if (position) {
      add(position->created_at, position->key);
      const Timestamp time{position->created_at};
      beyond.narrow(order_ == Order::desc ? Bound::before : Bound::after, time);
    }
    add(beyond.from, beyond.before);
  }

 private:
  const AccessPath& path_;
  Order order_;
  Sql columns_;
  std::string text_;
};

// Returns the end of a statement that reads streams of an index. Its parameter is the maximum
// number of rows.
std::string order_and_limit(const Index& index, Order order) {
  const std::string direction = order == Order::desc ? " DESC" : "";
  return " ORDER BY " + std::string(index.time) + direction + ", " + std::string(index.key) +
         direction + " LIMIT ?";
}

// Reads the streams of several paths, each with a small statement.
class StreamReader {
 public:
  StreamReader(db::Connection& connection, std::vector<AccessPath> paths, const PageQuery& page)
      : connection_(connection), paths_(std::move(paths)), start_(page.position) {
    for (const AccessPath& path : paths_) {
      first_.emplace_back(path, page.order, false);
      behind_.emplace_back(path, page.order, true);
      ends_.push_back(order_and_limit(*path.index, page.order));
    }
  }

  void read(std::size_t stream, const std::optional<Position>& after, std::int64_t limit,
            std::vector<Candidate>& out) {
    std::size_t path = 0;
    for (; stream >= paths_[path].stream_count(); ++path) stream -= paths_[path].stream_count();
    const std::optional<Position>& position = after ? after : start_;
    const StreamSelect& select = (position ? behind_ : first_)[path];
    Sql sql{select.text() + ends_[path], {}};
    select.add_values(stream, position, sql.values);
    sql.values.push_back(Value::of(limit));
    db::Query rows = sql.query(connection_);
    while (rows.step()) out.push_back(candidate_of(rows));
  }

 private:
  db::Connection& connection_;
  std::vector<AccessPath> paths_;
  std::optional<Position> start_;
  std::vector<StreamSelect> first_;
  std::vector<StreamSelect> behind_;
  std::vector<std::string> ends_;
};

// Reads all streams with one statement.
db::Query join(db::Connection& connection, const std::vector<AccessPath>& paths,
               const PageQuery& page) {
  Sql sql;
  std::int64_t limit = page.limit + 1;  // one more row shows whether another page follows
  for (const AccessPath& path : paths) {
    const StreamSelect select(path, page.order, page.position.has_value());
    for (std::size_t stream = 0; stream < path.stream_count(); ++stream) {
      if (!sql.text.empty()) sql.add(" UNION ALL ");
      sql.add(select.text());
      select.add_values(stream, page.position, sql.values);
    }
    if (!path.further.text.empty()) limit = page.max_visited;
  }
  sql.add(order_and_limit(*paths.front().index, page.order), Value::of(limit));
  return sql.query(connection);
}

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

Sql select_candidate(const Index& index, const Sql& conditions) {
  Sql select{"SELECT ", {}};
  return select.add(index.time).add(", ").add(index.key).add(", true").add(conditions);
}

Candidate candidate_of(db::Query& row) {
  return {{row.number(0), row.number(1)}, row.column(2).integer != 0};
}

Candidates read_streams(db::Connection& connection, std::vector<AccessPath> paths, bool may_overlap,
                        const PageQuery& page) {
  std::size_t streams = 0;
  std::size_t values = 0;
  for (const AccessPath& path : paths) {
    streams += path.stream_count();
    values += path.stream_count() * path.further.values.size();
  }
  if (streams == 0) return [] { return std::nullopt; };
  if (!may_overlap && streams <= max_joined_streams && values <= max_joined_values) {
    const auto rows = std::make_shared<db::Query>(join(connection, paths, page));
    return [rows] { return rows->step() ? std::optional(candidate_of(*rows)) : std::nullopt; };
  }
  const auto reader = std::make_shared<StreamReader>(connection, std::move(paths), page);
  const auto merge = std::make_shared<Merge>(page.order, streams, [reader](auto&&... what) {
    reader->read(std::forward<decltype(what)>(what)...);
  });
  return [merge] { return merge->next(); };
}

}  // namespace comptroller::store
