// Text that repeats (customers, open words, assets, payout group ids) is kept once and referred to
// by its key. A pair, once committed, never changes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace comptroller::db {

class Connection;

// The symbols as one connection knows them; it remembers a bounded number.
class Symbols {
 public:
  explicit Symbols(Connection& connection) : connection_(connection) {}

  // The text of a key. The view holds until the next call.
  std::string_view text(std::int64_t key) {
    const auto index = static_cast<std::size_t>(key);
    if (index < texts_.size() && !texts_[index].empty()) return texts_[index];
    return look_up(key);
  }
  // The key of a text, if it has one.
  std::optional<std::int64_t> find(std::string_view text);
  // The key of a text, made now if need be: inside a write transaction only.
  std::int64_t intern(std::string_view text);

  // Forgets what a transaction that is undone may have made.
  void forget();

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };

  std::string_view look_up(std::int64_t key);
  void remember(std::string_view text, std::int64_t key);

  Connection& connection_;
  std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> keys_;
  std::vector<std::string> texts_;  // by key; empty: not remembered
  std::string beyond_;              // the last of the keys that are not remembered
};

}  // namespace comptroller::db
