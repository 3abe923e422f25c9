#include "db/symbols.hpp"

#include <algorithm>
#include <utility>

#include "model/error.hpp"

namespace comptroller::db {

std::string Symbols::read_text(std::int64_t key) {
  Query query = connection_.query("SELECT text FROM symbols WHERE key = $key");
  if (!query.bind("$key", key).step()) {
    throw Error::damaged("a reference leads nowhere");
  }
  if (query.column(0).kind != Value::Kind::text) {
    throw located(wrong_type(query.column(0), "text"),
                  "symbols.text of key " + std::to_string(key));
  }
  return std::string(query.column(0).bytes);
}

std::string_view Symbols::look_up(std::int64_t key) {
  std::string text = read_text(key);
  const auto index = static_cast<std::size_t>(key);
  if (index >= max_cached_) return beyond_ = std::move(text);
  if (index >= texts_.size()) {
    texts_.resize(std::min(max_cached_, std::max(index + 1, texts_.size() * 2)));
  }
  return texts_[index] = std::move(text);
}

std::optional<std::int64_t> Symbols::read_key(std::string_view text) {
  Query query = connection_.query("SELECT key FROM symbols WHERE text = $text");
  if (!query.bind("$text", text).step()) return std::nullopt;
  return query.number(0);
}

std::optional<std::int64_t> Symbols::search(std::string_view text) {
  if (const auto known = keys_.find(text); known != keys_.end()) {
    recent_[place_of(text)] = {known->first, known->second};
    return known->second;
  }
  const auto key = read_key(text);
  if (key) remember(text, *key);
  return key;
}

std::int64_t Symbols::insert(std::string_view text) {
  if (first_new_ > 0) {
    if (add(next_new_, text)) return next_new_++;
  } else if (const auto key = connection_.query("INSERT INTO symbols (text) VALUES ($text)")
                                  .bind("$text", text)
                                  .insert()) {
    return *key;
  }
  throw Error(Code::internal, "a symbol was not inserted");
}

std::int64_t Symbols::intern(std::string_view text) {
  if (const auto key = find(text)) return *key;
  const std::int64_t key = insert(text);
  remember(text, key);
  return key;
}

bool Symbols::add(std::int64_t key, std::string_view text) {
  return connection_.run("INSERT INTO symbols (key, text) VALUES (?, ?) ON CONFLICT DO NOTHING",
                         key, text) > 0;
}

void Symbols::leave_gap(std::int64_t keys) {
  Query last = connection_.query("SELECT max(key) FROM symbols");
  first_new_ = (last.step() ? last.column(0).integer : 0) + keys + 1;
  next_new_ = first_new_;
}

bool Symbols::add_new(Symbols& copy) {
  {
    Query before =
        copy.connection_.query("SELECT key, text FROM symbols WHERE key < $first ORDER BY key");
    Query now = connection_.query("SELECT key, text FROM symbols ORDER BY key");
    before.bind("$first", copy.first_new_);
    while (before.step()) {
      if (!now.step() || now.column(0) != before.column(0) || now.column(1) != before.column(1)) {
        return false;
      }
    }
  }
  Query added = copy.connection_.query("SELECT key, text FROM symbols WHERE key >= $first");
  added.bind("$first", copy.first_new_);
  while (added.step()) {
    if (!add(added.column(0).integer, added.column(1).bytes)) return false;
  }
  return true;
}

void Symbols::remember(std::string_view text, std::int64_t key) {
  if (keys_.size() >= max_cached_) forget_keys();
  keys_.emplace(text, key);
}

void Symbols::forget_keys() {
  recent_.fill({});
  keys_.clear();
}

void Symbols::forget() {
  forget_keys();
  texts_.clear();
}

}  // namespace comptroller::db
