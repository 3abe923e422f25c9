#pragma once

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "json/document.hpp"
#include "model/error.hpp"

namespace comptroller::load {

// Examines documents as the reader of records does, without a record. For one thread at a time.
class Validator {
 public:
  // Returns why a document, which json::padding readable bytes follow, is not a JSON object without
  // duplicate members; null if it is one.
  std::unique_ptr<const Error> check(std::string_view document) {
    try {
      std::vector<std::string_view> keys;
      for (const auto& [key, value] : parser_.parse(document, true)) {
        json::refuse_duplicates(value);
        keys.push_back(key);
      }
      std::ranges::sort(keys);
      const auto repeated = std::ranges::adjacent_find(keys);
      if (repeated != keys.end()) throw Error::invalid(*repeated, "appears more than once");
    } catch (const Error& error) {
      if (problem(error.code()).status >= 500) throw;
      return std::make_unique<const Error>(error);
    }
    return nullptr;
  }

 private:
  json::Parser parser_;
};

}  // namespace comptroller::load
