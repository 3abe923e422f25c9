// Describes the service as JSON: records and requests with their fields, operations, closed sets,
// problem codes, scopes. The published API description is made from it, and tests compare the
// Python records with it.
#pragma once

#include <string>

namespace comptroller::service {

// {"records": {name: {field: {type, required, min_length, max_length, doc}}}, "requests": the same,
// "enums": {name: [word]}, "operations": [...], "problems": [...], "scopes": {name: doc}}
std::string describe();

}  // namespace comptroller::service
