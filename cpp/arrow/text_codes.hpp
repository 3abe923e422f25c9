// Codes for the repeated texts of a column.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace comptroller::arrow {

// Numbers texts from 0 in the order in which `code` first gets them. Threads may share an instance.
class TextCodes {
 public:
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
  std::unordered_map<std::int64_t, std::int32_t> codes_;  // by key
  std::vector<std::string> texts_;
};

// The codes of columns, by name.
using Codes = std::map<std::string, std::shared_ptr<TextCodes>, std::less<>>;

}  // namespace comptroller::arrow
