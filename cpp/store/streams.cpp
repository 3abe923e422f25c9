#include "store/streams.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <span>
#include <utility>

namespace comptroller::store {

namespace {

// The maximum number of values of conditions that the streams of one statement repeat.
constexpr std::size_t max_joined_values = 256;

// Returns the end of a statement that reads streams of an index.
std::string order_and_limit(const Index& index, Order order, std::string_view limit) {
  const std::string direction = order == Order::desc ? " DESC" : "";
  std::string end = " ORDER BY " + std::string(index.time) + direction + ", ";
  return end.append(index.key).append(direction).append(" LIMIT ").append(limit);
}

// Selects the rows of a path's streams.
class StreamSelect {
 public:
  // The path must outlive this object.
  StreamSelect(const AccessPath& path, Order order, bool is_behind_position)
      : StreamSelect(path, order, is_behind_position, select_candidate(*path.index, path.further)) {
  }
  // Selects these columns instead of the candidates.
  StreamSelect(const AccessPath& path, Order order, bool is_behind_position, Sql columns)
      : path_(path), order_(order), columns_(std::move(columns)) {
    const std::string time(path.index->time);
    start_ = columns_.text + " FROM " + std::string(path.table) + path.hint + " WHERE " + time;
    range_ = start_ + " >= ? AND " + time + " < ?" + path.condition;
    if (!is_behind_position) return;
    key_ = path.index->key;
    sign_ = order == Order::desc ? " < " : " > ";
  }

  // With one SELECT, or with two after a position: SQLite searches an index only by the first
  // column of a row value comparison.
  std::string text() const {
    if (key_.empty()) return range_;
    return start_ + " = ? AND " + key_ + sign_ + "?" + path_.condition + " UNION ALL " + range_;
  }
  // Appends the values of the parameters; `position` is set if the rows come after a position.
  void add_values(std::size_t stream, const std::optional<Position>& position,
                  std::vector<Value>& out) const {
    TimeRange beyond = path_.range;
    if (position) {
      add(position->created_at, position->key, stream, out);
      const Timestamp time{position->created_at};
      beyond.narrow(order_ == Order::desc ? Bound::before : Bound::after, time);
    }
    add(beyond.from, beyond.before, stream, out);
  }

  // The same as one SELECT with an order and a limit of its own; see
  // Dialect::has_ordered_branches. The engine would expect few rows in a range, and sort them.
  std::string ordered_text(std::string_view limit) const {
    const std::string time(path_.index->time);
    std::string text = columns_.text + " FROM " + std::string(path_.table) + " WHERE ";
    text += has_range() ? time + " >= ? AND " + time + " < ?" : "true";
    text += path_.condition;
    if (!key_.empty()) {
      text.append(" AND (").append(time).append(", ").append(key_).append(")");
      text.append(sign_).append("(?, ?)");
    }
    return text + order_and_limit(*path_.index, order_, limit);
  }
  void add_ordered_values(std::size_t stream, const std::optional<Position>& position,
                          std::vector<Value>& out) const {
    const auto add_both = [&](std::int64_t first, std::int64_t second) {
      out.push_back(Value::of(first));
      out.push_back(Value::of(second));
    };
    out.insert(out.end(), columns_.values.begin(), columns_.values.end());
    if (has_range()) add_both(path_.range.from, path_.range.before);
    add_dimensions(stream, out);
    if (position) add_both(position->created_at, position->key);
  }

 private:
  void add(std::int64_t first, std::int64_t second, std::size_t stream,
           std::vector<Value>& out) const {
    out.insert(out.end(), columns_.values.begin(), columns_.values.end());
    out.push_back(Value::of(first));
    out.push_back(Value::of(second));
    add_dimensions(stream, out);
  }
  void add_dimensions(std::size_t stream, std::vector<Value>& out) const {
    for (const auto& values : path_.dimensions) {
      out.push_back(values[stream % values.size()]);
      stream /= values.size();
    }
  }
  bool has_range() const { return path_.range != TimeRange{}; }

  const AccessPath& path_;
  Order order_;
  Sql columns_;
  std::string start_;
  std::string range_;
  std::string key_;  // empty: from the beginning
  std::string sign_;
};

// Reads the streams of several paths, each with a small statement.
class StreamReader {
 public:
  StreamReader(db::Connection& connection, std::vector<AccessPath> paths, const PageQuery& page)
      : connection_(connection), paths_(std::move(paths)), page_(page) {
    for (const AccessPath& path : paths_) {
      first_.emplace_back(path, page.order, false);
      behind_.emplace_back(path, page.order, true);
    }
  }

  void read(const StreamBatch& batch, std::int64_t limit, std::vector<Candidate>& out) const {
    const auto [path, stream] = place(batch.stream);
    const std::optional<Position>& position = position_before(batch);
    const StreamSelect& select = (position ? behind_ : first_)[path];
    Sql sql;
    if (connection_.dialect().has_ordered_branches) {
      sql.text = select.ordered_text(std::to_string(limit));
      select.add_ordered_values(stream, position, sql.values);
    } else {
      sql.text = select.text() + order_and_limit(*paths_[path].index, page_.order, "?");
      select.add_values(stream, position, sql.values);
      sql.values.push_back(Value::of(limit));
    }
    append(sql, out);
  }

  // Reads batches ahead; see Dialect::has_ordered_branches. All of them begin at a first row, or
  // none does.
  void read_ahead(std::span<const StreamBatch> batches, std::int64_t limit) const {
    const bool is_behind = position_before(batches.front()).has_value();
    for (std::size_t path = 0; path < paths_.size(); ++path) {
      const StreamSelect& select = (is_behind ? behind_ : first_)[path];
      std::vector<std::vector<Value>> runs;
      for (const StreamBatch& batch : batches) {
        const auto [of, stream] = place(batch.stream);
        if (of != path) continue;
        select.add_ordered_values(stream, position_before(batch), runs.emplace_back());
      }
      connection_.read_ahead(select.ordered_text(std::to_string(limit)), runs.size(),
                             [&](std::size_t run) { return runs[run]; });
    }
  }

  // Reads all streams with one statement, as if they were one; see Dialect::has_ordered_branches.
  void read_all(const StreamBatch& batch, std::int64_t limit, std::vector<Candidate>& out) const {
    const std::optional<Position>& position = position_before(batch);
    const std::string count = std::to_string(limit);
    Sql sql;
    for (std::size_t path = 0; path < paths_.size(); ++path) {
      const StreamSelect& select = (position ? behind_ : first_)[path];
      const std::string text = "SELECT * FROM (" + select.ordered_text(count) + ") AS branch";
      for (std::size_t stream = 0; stream < paths_[path].stream_count(); ++stream) {
        sql.add(sql.text.empty() ? "" : " UNION ALL ").add(text);
        select.add_ordered_values(stream, position, sql.values);
      }
    }
    sql.add(order_and_limit(*paths_.front().index, page_.order, count));
    append(sql, out);
  }

 private:
  // The path of a stream, and its number there.
  struct Place {
    std::size_t path = 0;
    std::size_t stream = 0;
  };
  Place place(std::size_t stream) const {
    std::size_t path = 0;
    for (; stream >= paths_[path].stream_count(); ++path) stream -= paths_[path].stream_count();
    return {path, stream};
  }
  const std::optional<Position>& position_before(const StreamBatch& batch) const {
    return batch.after ? batch.after : page_.position;
  }
  void append(const Sql& sql, std::vector<Candidate>& out) const {
    db::Query rows = sql.query(connection_);
    while (rows.step()) out.push_back(candidate_of(rows));
  }

  db::Connection& connection_;
  std::vector<AccessPath> paths_;
  PageQuery page_;
  std::vector<StreamSelect> first_;
  std::vector<StreamSelect> behind_;
};

// Reads all streams with one statement.
db::Query join(db::Connection& connection, const std::vector<AccessPath>& paths,
               const PageQuery& page) {
  Sql sql;
  std::int64_t limit = page.limit + 1;  // one more row shows whether another page follows
  for (const AccessPath& path : paths) {
    const StreamSelect select(path, page.order, page.position.has_value());
    const std::string text = select.text();
    for (std::size_t stream = 0; stream < path.stream_count(); ++stream) {
      if (!sql.text.empty()) sql.add(" UNION ALL ");
      sql.add(text);
      select.add_values(stream, page.position, sql.values);
    }
    if (!path.further.text.empty()) limit = page.max_visited;
  }
  sql.add(order_and_limit(*paths.front().index, page.order, "?"), Value::of(limit));
  return sql.query(connection);
}

// Where batches are round trips, the first ones together have four times the rows of a page, and
// some thousand, which cost little. Few sizes, so that few different statements are prepared.
std::int64_t first_batch_size(const db::Dialect& dialect, const PageQuery& page,
                              std::size_t streams) {
  constexpr std::int64_t least = 2;
  if (!dialect.is_remote) return least;
  const std::int64_t share = 4 * (page.limit + 1'000) / static_cast<std::int64_t>(streams);
  const std::int64_t size = std::clamp(share, least, page.limit + least);
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(size)));
}

Candidates merge(const PageQuery& page, std::size_t streams, std::int64_t first_batch,
                 Merge::Fetch fetch, Merge::Announce announce = nullptr) {
  const auto merge = std::make_shared<Merge>(page.order, streams, std::move(fetch), first_batch,
                                             std::move(announce));
  return [merge] { return merge->next(); };
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

std::optional<Sql> select_page(const db::Dialect& dialect, const std::vector<AccessPath>& paths,
                               std::string_view table, std::string_view columns,
                               const PageQuery& page) {
  std::size_t streams = 0;
  for (const AccessPath& path : paths) {
    if (path.table != table || !path.further.text.empty()) return std::nullopt;
    streams += path.stream_count();
  }
  if (!dialect.has_ordered_branches || streams == 0 || streams > dialect.max_joined_streams) {
    return std::nullopt;
  }
  const std::string limit = std::to_string(page.limit + 1);  // one more shows that a page follows
  Sql sql;
  for (const AccessPath& path : paths) {
    Sql selected{"SELECT " + std::string(columns), {}};
    selected.add(", ").add(path.index->time).add(" AS position_time, key AS position_key");
    const StreamSelect select(path, page.order, page.position.has_value(), std::move(selected));
    const std::string text = "SELECT * FROM (" + select.ordered_text(limit) + ") AS branch";
    for (std::size_t stream = 0; stream < path.stream_count(); ++stream) {
      sql.add(sql.text.empty() ? "" : " UNION ALL ").add(text);
      select.add_ordered_values(stream, page.position, sql.values);
    }
  }
  constexpr Index position{.columns = {}, .time = "position_time", .key = "position_key"};
  return sql.add(order_and_limit(position, page.order, limit));
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
  const db::Dialect& dialect = connection.dialect();
  const bool is_joined = streams <= dialect.max_joined_streams && values <= max_joined_values;
  if (is_joined && !may_overlap && !dialect.has_ordered_branches) {
    const auto rows = std::make_shared<db::Query>(join(connection, paths, page));
    return [rows] { return rows->step() ? std::optional(candidate_of(*rows)) : std::nullopt; };
  }
  const auto reader = std::make_shared<StreamReader>(connection, std::move(paths), page);
  if (is_joined && dialect.has_ordered_branches) {
    // Few numbers of rows, so that few different statements are prepared.
    const std::uint64_t rows = std::bit_ceil(static_cast<std::uint64_t>(page.limit) + 1);
    return merge(page, 1, static_cast<std::int64_t>(rows),
                 [reader](auto&&... what) { reader->read_all(what...); });
  }
  Merge::Announce announce;
  if (dialect.has_ordered_branches) {
    announce = [reader](auto&&... what) { reader->read_ahead(what...); };
  }
  return merge(
      page, streams, first_batch_size(dialect, page, streams),
      [reader](auto&&... what) { reader->read(what...); }, std::move(announce));
}

}  // namespace comptroller::store
