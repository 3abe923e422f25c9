// Text that repeats (customers, open words, assets, payout group ids) is kept once and referred to
// by its key. A pair, once committed, never changes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace comptroller::db {

class Connection;

// The symbols as one connection knows them; it remembers a bounded number.
class Symbols {
 public:
  explicit Symbols(Connection& connection) : connection_(connection) {}

  // The text of a key. The view holds until the next call.
  std::string_view text(std::int64_t key);
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

  void remember(std::string_view text, std::int64_t key);

  Connection& connection_;
  std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> keys_;
  std::unordered_map<std::int64_t, std::string> texts_;
};

}  // namespace comptroller::db
