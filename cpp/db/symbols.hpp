// Text that repeats (customers, open words, assets, payout group ids) is kept once and referred to
// by its key. A pair, once committed, never changes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
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
  std::optional<std::int64_t> find(std::string_view text) {
    const Recent& recent = recent_[place_of(text)];
    if (recent.text == text && recent.key != 0) return recent.key;
    return search(text);
  }
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

  // A text met lately, kept by keys_: loads bind the same few again and again.
  struct Recent {
    std::string_view text;
    std::int64_t key = 0;
  };
  static constexpr std::size_t recent_count = 1024;
  // Texts differ in length or at their end.
  static std::size_t place_of(std::string_view text) {
    std::uint64_t end = 0;
    const std::size_t size = std::min(text.size(), sizeof end);
    if (size > 0) std::memcpy(&end, text.data() + text.size() - size, size);
    return static_cast<std::size_t>((end + text.size()) * 0x9E3779B97F4A7C15U >> 54U);
  }

  std::optional<std::int64_t> search(std::string_view text);
  std::string_view look_up(std::int64_t key);
  void remember(std::string_view text, std::int64_t key);
  void forget_keys();

  Connection& connection_;
  std::array<Recent, recent_count> recent_{};
  std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> keys_;
  std::vector<std::string> texts_;  // by key; empty: not remembered
  std::string beyond_;              // the last of the keys that are not remembered
};

}  // namespace comptroller::db
