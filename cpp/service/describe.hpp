// Describes the service as JSON: records and requests with their fields, operations, closed sets,
// problem codes, scopes. The published API description is made from it, and tests compare the
// Python records with it.
#pragma once

#include <string>

namespace comptroller::service {

// {"records": {name: {field: {type, required, min_length, max_length, doc}}}, "requests": the same
// with the index_ranges of each filter, "enums": {name: [word]}, "operations": [...], "problems":
// [...], "scopes": {name: doc},
// "most_merged_customers": the customers whose rows a list of all customers merges}
std::string describe();

}  // namespace comptroller::service
