// The columns of a payout group that writes of its claims and addresses read.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "db/database.hpp"

namespace comptroller::store {

struct GroupFacts {
  bool is_known = false;
  std::int64_t customer = 0;                 // symbol
  std::optional<std::int64_t> jurisdiction;  // symbol

  friend bool operator==(const GroupFacts&, const GroupFacts&) = default;
};
GroupFacts group_facts(db::Connection& connection, std::int64_t group_symbol);
// Reads those of several groups (symbols) together. Only if the dialect is_remote.
std::unordered_map<std::int64_t, GroupFacts> group_facts(db::Connection& connection,
                                                         const std::vector<db::Value>& groups);

}  // namespace comptroller::store
