// Reads records of the store as Arrow C streams with the requested columns.
//
// Timestamps are timestamp[us, UTC], amounts decimal128(38, 18), closed sets dictionary<int8,
// utf8>, lists and nested records lists and structs, metadata map<utf8, utf8>, other values utf8. A
// column is nullable if its field may be unset. Rows are in order of insertion.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arrow/table.hpp"

namespace comptroller::arrow {

// Returns the records of a kind (claims, orchestrations, reward_addresses, payout_groups, controls,
// identities, balances) with the given columns in this order, or all columns. A client audience
// does not see the customer. Throws invalid_request for an unknown kind, and for unknown, repeated
// or empty columns.
Table make_table(std::string_view kind, const std::optional<std::vector<std::string>>& columns,
                 Audience audience, RowSource source, Limits limits = {});

}  // namespace comptroller::arrow
