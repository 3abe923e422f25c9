// What differs between the SQL of the engines. All other SQL is common to them.
#pragma once

#include <cstddef>
#include <string_view>

namespace comptroller::db {

struct Dialect {
  // Whether a statement is a round trip to another process, which returns all rows together.
  bool is_remote = false;
  // Whether each SELECT of a UNION ALL has an order and a limit of its own, the limit is a literal,
  // and an index serves the comparison of row values.
  bool has_ordered_branches = false;
  // The maximum number of streams of a list that one statement merges.
  std::size_t max_joined_streams = 0;
  // Whether entries of the journal wait in `journal_pending` for their sequence numbers.
  bool has_pending_entries = false;
  // What follows a condition in an index to compare it with the truth value ?. If the engine
  // simplified that, it would not find the index.
  std::string_view equals_truth = " = ?";
  // The end of an EXISTS that the engine must evaluate for each row, and not for all rows at once.
  std::string_view end_of_exists = {};
  // The end of the columns of an index that contains the key.
  std::string_view end_of_index = {};
  // The number of bytes of the blob `keys`.
  std::string_view length_of_keys = {};
  // Conditions on a claim: its hash is ?, or the text ? in lower case; one of its addresses is the
  // text ?; one of its addresses is the packed ?, ?, or the text ?, ? in lower case.
  std::string_view has_hash = {};
  std::string_view has_address = {};
  std::string_view has_evm_address = {};
};

}  // namespace comptroller::db
