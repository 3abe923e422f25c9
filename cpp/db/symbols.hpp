// Repeated texts (customers, words of open sets, assets, payout group ids) are stored once and
// referenced by key. A committed pair of text and key never changes, unless a restore replaces the
// content of the database.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "db/query.hpp"

namespace comptroller::db {

// Allows a lookup by std::string_view in an unordered container of std::string.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
};

// The symbols of one connection, with a cache of bounded size. For one thread at a time.
class Symbols {
 public:
  // At most about 30 MB; the cache is emptied when it is full.
  static constexpr std::size_t max_cached_symbols = 200'000;

  explicit Symbols(Statements& connection, std::size_t max_cached = max_cached_symbols)
      : connection_(connection), max_cached_(max_cached) {}
  virtual ~Symbols() = default;
  Symbols(const Symbols&) = delete;
  Symbols& operator=(const Symbols&) = delete;

  // Returns the text of a key; valid until the next call.
  std::string_view text(std::int64_t key) {
    const auto index = static_cast<std::size_t>(key);
    if (index < texts_.size() && !texts_[index].empty()) return texts_[index];
    return look_up(key);
  }
  // Returns the key of a text; nullopt if it is not stored.
  std::optional<std::int64_t> find(std::string_view text) {
    const Recent& recent = recent_[place_of(text)];
    if (recent.text == text && recent.key != 0) return recent.key;
    return search(text);
  }
  // Returns the key of a text; stores a new text. Only inside a write transaction.
  std::int64_t intern(std::string_view text);

  // Whether the key of a text is cached.
  bool is_cached(std::string_view text) const {
    const Recent& recent = recent_[place_of(text)];
    return (recent.text == text && recent.key != 0) || keys_.contains(text);
  }
  // Looks up several texts together if this is faster, so that `find` need not.
  virtual void find_many(std::span<const std::string_view> /*texts*/) {}
  // Looks up, and stores, several texts together if this is faster, so that `intern` need not.
  virtual void intern_many(std::span<const std::string_view> /*texts*/) {}

  // For a private copy of a database. New texts get keys after a gap, so that `add_new` can add
  // them to a later state of the database.
  void leave_gap(std::int64_t keys);
  // Adds the texts that were new in a private copy. Returns false if one of them, or its key, is
  // taken, or if the other pairs of the copy are not the first ones here, as after a restore.
  bool add_new(Symbols& copy);

  // Empties the cache, because a transaction that was undone may have added pairs, or a restore
  // replaced them.
  void forget();

 protected:
  // These read and store what is not cached. A driver whose connections share the symbols overrides
  // them.
  virtual std::string read_text(std::int64_t key);
  virtual std::optional<std::int64_t> read_key(std::string_view text);
  virtual std::int64_t insert(std::string_view text);

 private:
  // A recently used text, owned by keys_. Loads bind the same few texts repeatedly.
  struct Recent {
    std::string_view text;
    std::int64_t key = 0;
  };
  static constexpr std::size_t recent_count = 1024;
  // Hashes the last bytes, because texts usually differ in length or at their end.
  static std::size_t place_of(std::string_view text) {
    std::uint64_t end = 0;
    const std::size_t size = std::min(text.size(), sizeof end);
    if (size > 0) std::memcpy(&end, text.data() + text.size() - size, size);
    return static_cast<std::size_t>((end + text.size()) * 0x9E3779B97F4A7C15U >> 54U);
  }

  std::optional<std::int64_t> search(std::string_view text);
  std::string_view look_up(std::int64_t key);
  void remember(std::string_view text, std::int64_t key);
  bool add(std::int64_t key, std::string_view text);
  void forget_keys();

  Statements& connection_;
  std::size_t max_cached_;
  std::array<Recent, recent_count> recent_{};
  std::unordered_map<std::string, std::int64_t, TextHash, std::equal_to<>> keys_;
  std::vector<std::string> texts_;  // by key; empty if not cached
  std::string beyond_;              // the last text of a key too large to be cached
  std::int64_t first_new_ = 0;      // the first key after the gap; 0 if there is none
  std::int64_t next_new_ = 0;
};

}  // namespace comptroller::db
