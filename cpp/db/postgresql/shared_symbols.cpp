#include "db/postgresql/shared_symbols.hpp"

#include <tuple>

#include "db/postgresql/failures.hpp"
#include "model/error.hpp"

namespace comptroller::db::postgresql {

void SharedSymbols::follow(std::int64_t server) {
  const std::lock_guard lock(mutex_);
  if (server_.exchange(server) == server) return;
  forget();
}

void SharedSymbols::require(std::int64_t server) const {
  if (server_ != server) throw_replaced();
}

void SharedSymbols::forget() {
  keys_.clear();
  texts_.clear();
  ++generation_;
}

void SharedSymbols::remember(const Symbol& symbol) {
  if (keys_.size() >= Symbols::max_cached_symbols) {
    keys_.clear();
    texts_.clear();
  }
  keys_.emplace(symbol.text, symbol.key);
  texts_.emplace(symbol.key, symbol.text);
}

SharedSymbols::Use SharedSymbols::wait_for_connection() {
  const Deadline deadline = Clock::now() + max_wait_;
  std::unique_lock lock(mutex_);
  while (!end_of_use_.wait_for(lock, check_interval, [&] { return !is_in_use_; })) {
    lock.unlock();
    if (Clock::now() >= deadline) {
      throw Error(Code::unavailable,
                  "another request for texts of the store has not ended; try again later");
    }
    interrupt_.check();
    lock.lock();
  }
  is_in_use_ = true;
  return Use(this);
}

void SharedSymbols::end_use() noexcept {
  {
    const std::lock_guard lock(mutex_);
    is_in_use_ = false;
  }
  end_of_use_.notify_one();
}

std::vector<Symbol> SharedSymbols::read(const Read& work, std::int64_t server) {
  const Use use = wait_for_connection();
  std::vector<Symbol> symbols = read_alone(work);
  const std::lock_guard lock(mutex_);
  require(server_of_connection_);  // another thread may have followed another server
  require(server);
  for (const Symbol& symbol : symbols) remember(symbol);
  return symbols;
}

std::vector<Symbol> SharedSymbols::read_alone(const Read& work) {
  if (connection_ && is_of(server_of_connection_)) {
    try {
      return work(*connection_);
    } catch (const Lost&) {  // each statement can be executed again
      const std::lock_guard lock(mutex_);
      forget();
    }
  }
  connect();
  if (!is_of(server_of_connection_)) {
    follow(server_of_connection_);
    throw_replaced();
  }
  return work(*connection_);
}

void SharedSymbols::connect() {
  connection_.reset();
  std::tie(connection_, server_of_connection_) = connect_();
}

namespace {

// Throws Lost if an answer is not that of the request: the connection is then not used again.
void require_answer(bool is_of_request) {
  if (!is_of_request) {
    throw Lost(Code::unavailable, "the database answered another request; try again");
  }
}

std::vector<Symbol> symbols_of(Query& query) {
  std::vector<Symbol> symbols;
  while (query.step()) {
    symbols.push_back({query.number(0), std::string(query.column(1).bytes)});
  }
  return symbols;
}

constexpr const char* with_text = "SELECT key, text FROM symbols WHERE text = ANY(?)";

}  // namespace

void SharedSymbols::fill() {
  {
    const Use use = wait_for_connection();
    connect();
    follow(server_of_connection_);
  }
  read(
      [](Connection& connection) {
        Query query = connection.query("SELECT key, text FROM symbols ORDER BY key LIMIT ?");
        query.bind(1, static_cast<std::int64_t>(Symbols::max_cached_symbols));
        return symbols_of(query);
      },
      server_);
}

std::optional<std::string> SharedSymbols::cached_text(std::int64_t key, std::int64_t server) {
  const std::lock_guard lock(mutex_);
  require(server);
  const auto found = texts_.find(key);
  return found == texts_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::int64_t> SharedSymbols::cached_key(std::string_view text, std::int64_t server) {
  const std::lock_guard lock(mutex_);
  require(server);
  const auto found = keys_.find(text);
  return found == keys_.end() ? std::nullopt : std::optional(found->second);
}

std::string SharedSymbols::text(std::int64_t key, std::int64_t server) {
  if (auto known = cached_text(key, server)) return *std::move(known);
  const std::vector<Symbol> found = read(
      [&](Connection& connection) {
        Query query = connection.query("SELECT key, text FROM symbols WHERE key = ?");
        query.bind(1, key);
        std::vector<Symbol> symbols = symbols_of(query);
        for (const Symbol& symbol : symbols) require_answer(symbol.key == key);
        return symbols;
      },
      server);
  if (found.empty()) throw Error::damaged("a reference leads nowhere");
  return found.front().text;
}

std::optional<std::int64_t> SharedSymbols::read_key(const char* sql, std::string_view text,
                                                    std::int64_t server) {
  const std::vector<Symbol> found = read(
      [&](Connection& connection) {
        // Another thread may have read it meanwhile.
        if (const auto known = cached_key(text, server)) {
          return std::vector<Symbol>{{*known, std::string(text)}};
        }
        Query query = connection.query(sql);
        query.bind(1, text);
        std::vector<Symbol> symbols = symbols_of(query);
        for (const Symbol& symbol : symbols) require_answer(symbol.text == text);
        return symbols;
      },
      server);
  return found.empty() ? std::nullopt : std::optional(found.front().key);
}

std::optional<std::int64_t> SharedSymbols::find(std::string_view text, std::int64_t server) {
  if (const auto known = cached_key(text, server)) return known;
  return read_key("SELECT key, text FROM symbols WHERE text = ?", text, server);
}

std::int64_t SharedSymbols::intern(std::string_view text, std::int64_t server) {
  if (const auto key = find(text, server)) return *key;
  constexpr const char* insert =
      "INSERT INTO symbols (text) VALUES (?) ON CONFLICT DO NOTHING RETURNING key, text";
  if (const auto key = read_key(insert, text, server)) return *key;
  if (const auto key = find(text, server)) return *key;  // another process has stored it
  throw Error(Code::internal, "a symbol was not inserted");
}

std::set<std::string_view> SharedSymbols::read_unknown(const char* sql,
                                                       std::span<const std::string_view> texts,
                                                       std::int64_t server) {
  std::set<std::string_view> unknown;
  {
    const std::lock_guard lock(mutex_);
    require(server);
    for (const std::string_view text : texts) {
      if (!keys_.contains(text)) unknown.insert(text);
    }
  }
  if (unknown.empty()) return unknown;
  std::vector<Value> values;
  values.reserve(unknown.size());
  for (const std::string_view text : unknown) values.push_back(Value::of(text));
  const std::vector<Symbol> found = read(
      [&](Connection& connection) {
        Query query = connection.query_list(sql, values);
        std::vector<Symbol> symbols = symbols_of(query);
        for (const Symbol& symbol : symbols) require_answer(unknown.contains(symbol.text));
        return symbols;
      },
      server);
  for (const Symbol& symbol : found) unknown.erase(symbol.text);
  return unknown;
}

std::set<std::string_view> SharedSymbols::find_absent(std::span<const std::string_view> texts,
                                                      std::int64_t server) {
  return read_unknown(with_text, texts, server);
}

// Two statements that insert the same texts in different orders would wait for each other.
void SharedSymbols::intern_many(std::span<const std::string_view> texts, std::int64_t server) {
  const std::set<std::string_view> absent = read_unknown(with_text, texts, server);
  if (absent.empty()) return;
  const std::vector<std::string_view> added(absent.begin(), absent.end());
  read_unknown(
      "INSERT INTO symbols (text) SELECT text FROM unnest(?::text[]) AS t (text)"
      " ORDER BY text COLLATE \"C\""
      " ON CONFLICT DO NOTHING RETURNING key, text",
      added, server);
}

std::optional<std::int64_t> ConnectionSymbols::read_key(std::string_view text) {
  if (absent_.contains(text)) return std::nullopt;
  auto key = shared_.find(text, server_);
  if (key || !is_snapshot_) return key;
  take_snapshot_();
  key = shared_.find(text, server_);
  if (!key) absent_.emplace(text);
  return key;
}

void ConnectionSymbols::find_many(std::span<const std::string_view> texts) {
  if (!is_snapshot_ || shared_.find_absent(texts, server_).empty()) return;
  take_snapshot_();
  const std::set<std::string_view> absent = shared_.find_absent(texts, server_);
  absent_.insert(absent.begin(), absent.end());
}

}  // namespace comptroller::db::postgresql
