#include "db/postgresql/shared_symbols.hpp"

#include <tuple>

#include "db/postgresql/failures.hpp"
#include "model/error.hpp"

namespace comptroller::db::postgresql {

template <class Work>
auto SharedSymbols::with_connection(const Work& work) {
  if (connection_) {
    try {
      return work(*connection_);
    } catch (const Lost&) {  // each statement can be executed again
      connection_.reset();
      forget();
    }
  }
  if (!connect()) throw_replaced();
  return work(*connection_);
}

bool SharedSymbols::connect() {
  std::int64_t server = 0;
  std::tie(connection_, server) = connect_();
  if (server_.exchange(server) == server) return true;
  forget();
  return false;
}

void SharedSymbols::forget() {
  keys_.clear();
  texts_.clear();
  ++generation_;
}

void SharedSymbols::follow(std::int64_t server) {
  if (is_of(server)) return;  // the mutex may be held for as long as a statement takes
  const std::lock_guard lock(mutex_);
  if (server_.exchange(server) == server) return;
  connection_.reset();
  forget();
}

void SharedSymbols::fill() {
  const std::lock_guard lock(mutex_);
  connect();
  with_connection([&](Connection& connection) {
    Query rows = connection.query("SELECT key, text FROM symbols ORDER BY key LIMIT ?");
    rows.bind(1, static_cast<std::int64_t>(Symbols::max_cached_symbols));
    while (rows.step()) remember(rows.column(1).bytes, rows.number(0));
  });
}

std::set<std::string_view> SharedSymbols::read_unknown(const char* sql,
                                                       std::span<const std::string_view> texts) {
  std::set<std::string_view> unknown;
  for (const std::string_view text : texts) {
    if (!keys_.contains(text)) unknown.insert(text);
  }
  if (unknown.empty()) return unknown;
  std::vector<Value> values;
  values.reserve(unknown.size());
  for (const std::string_view text : unknown) values.push_back(Value::of(text));
  with_connection([&](Connection& connection) {
    Query rows = connection.query_list(sql, values);
    while (rows.step()) {
      const std::string_view text = rows.column(1).bytes;
      unknown.erase(text);
      remember(text, rows.number(0));
    }
  });
  return unknown;
}

namespace {

constexpr const char* stored = "SELECT key, text FROM symbols WHERE text = ANY(?)";

}  // namespace

std::set<std::string_view> SharedSymbols::find_absent(std::span<const std::string_view> texts) {
  const std::lock_guard lock(mutex_);
  return read_unknown(stored, texts);
}

// Two statements that insert the same texts in different orders would wait for each other.
void SharedSymbols::intern_many(std::span<const std::string_view> texts) {
  const std::lock_guard lock(mutex_);
  const std::set<std::string_view> absent = read_unknown(stored, texts);
  if (absent.empty()) return;
  const std::vector<std::string_view> added(absent.begin(), absent.end());
  read_unknown(
      "INSERT INTO symbols (text) SELECT text FROM unnest(?::text[]) AS t (text)"
      " ORDER BY text COLLATE \"C\""
      " ON CONFLICT DO NOTHING RETURNING key, text",
      added);
}

void SharedSymbols::remember(std::string_view text, std::int64_t key) {
  if (keys_.size() >= Symbols::max_cached_symbols) {
    keys_.clear();
    texts_.clear();
  }
  keys_.emplace(text, key);
  texts_.emplace(key, text);
}

std::string SharedSymbols::text(std::int64_t key) {
  const std::lock_guard lock(mutex_);
  if (const auto known = texts_.find(key); known != texts_.end()) return known->second;
  return with_connection([&](Connection& connection) {
    Query row = connection.query("SELECT text FROM symbols WHERE key = ?");
    if (!row.bind(1, key).step()) throw Error::damaged("a reference leads nowhere");
    remember(row.column(0).bytes, key);
    return std::string(row.column(0).bytes);
  });
}

std::optional<std::int64_t> SharedSymbols::find(std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (const auto known = keys_.find(text); known != keys_.end()) return known->second;
  return with_connection([&](Connection& connection) -> std::optional<std::int64_t> {
    Query row = connection.query("SELECT key FROM symbols WHERE text = ?");
    if (!row.bind(1, text).step()) return std::nullopt;
    remember(text, row.number(0));
    return row.number(0);
  });
}

std::int64_t SharedSymbols::intern(std::string_view text) {
  if (const auto key = find(text)) return *key;
  {
    const std::lock_guard lock(mutex_);
    const auto key = with_connection([&](Connection& connection) {
      return connection.query("INSERT INTO symbols (text) VALUES (?) ON CONFLICT DO NOTHING")
          .bind(1, text)
          .insert();
    });
    if (key) remember(text, *key);
  }
  if (const auto key = find(text)) return *key;  // another process may have stored it
  throw Error(Code::internal, "a symbol was not inserted");
}

SharedSymbols& ConnectionSymbols::shared_of_current_server() const {
  if (is_of_current_server()) return shared_;
  throw_replaced();
}

std::optional<std::int64_t> ConnectionSymbols::read_key(std::string_view text) {
  if (absent_.contains(text)) return std::nullopt;
  auto key = shared_of_current_server().find(text);
  if (key || !is_snapshot_) return key;
  take_snapshot_();
  key = shared_of_current_server().find(text);
  if (!key) absent_.emplace(text);
  return key;
}

void ConnectionSymbols::find_many(std::span<const std::string_view> texts) {
  if (!is_snapshot_ || shared_of_current_server().find_absent(texts).empty()) return;
  take_snapshot_();
  const std::set<std::string_view> absent = shared_of_current_server().find_absent(texts);
  absent_.insert(absent.begin(), absent.end());
}

}  // namespace comptroller::db::postgresql
