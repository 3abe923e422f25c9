// Codes for the repeated texts of a column.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "db/database.hpp"

namespace comptroller::arrow {

// Numbers texts from 0 in the order in which `code` first gets them. Threads may share an instance.
class TextCodes {
 public:
  // Begins to read keys in a snapshot of the connection. Throws unavailable if a restore has given
  // keys other texts.
  void begin(db::Connection& connection) {
    const std::lock_guard lock(mutex_);
    const std::int64_t content = connection.content();
    if (content == content_) return;
    for (const auto& [key, code] : codes_) {
      if (connection.symbols().find(texts_[static_cast<std::size_t>(code)]) == key) continue;
      throw Error(Code::unavailable, "the store was restored during the read; try again");
    }
    content_ = content;
  }
  // Returns the code of the text with this key. `text` returns the text, and is called if the key
  // is new.
  template <class Text>
  std::int32_t code(std::int64_t key, const Text& text) {
    const std::lock_guard lock(mutex_);
    const auto known = codes_.find(key);
    if (known != codes_.end()) return known->second;
    const auto code = static_cast<std::int32_t>(texts_.size());
    texts_.emplace_back(text());
    codes_.emplace(key, code);
    return code;
  }
  // Returns the texts so far, in the order of their codes.
  std::vector<std::string> texts() const {
    const std::lock_guard lock(mutex_);
    return texts_;
  }

 private:
  mutable std::mutex mutex_;
  std::optional<std::int64_t> content_;                   // see Connection::content
  std::unordered_map<std::int64_t, std::int32_t> codes_;  // by key
  std::vector<std::string> texts_;
};

// The codes of columns, by name.
using Codes = std::map<std::string, std::shared_ptr<TextCodes>, std::less<>>;

inline void begin_codes(const Codes& codes, db::Connection& snapshot) {
  for (const auto& [name, column] : codes) column->begin(snapshot);
}

}  // namespace comptroller::arrow
