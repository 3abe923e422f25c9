// What the service is made of, as JSON: records with their fields, operations, closed sets, problem
// codes, scopes. The Python records and the published API description are held against it.
#pragma once

#include <string>

namespace comptroller::service {

// {"records": {name: {field: {type, required, doc}}}, "operations": [...], "enums": {...},
// "problems": [...], "scopes": {...}}
std::string describe();

}  // namespace comptroller::service
