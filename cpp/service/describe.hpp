// Describes the service as JSON. The Python records, resource classes and routes, and the published
// API description are generated from it.
#pragma once

#include <string>

namespace comptroller::service {

// A JSON object:
//   resources    [{name, record}] in an order in which they can be loaded
//   records      {name: {doc, members: {name: {type, required, doc}}}}; a member also has the
//                limits and flags that apply to it (describe.cpp)
//   requests     the same, with the index_ranges of each filter
//   enums        {name: {value: meaning}}
//   operations   [{name, scope, method, paths, summary, details, errors: [{code, when}], envelope,
//                body_envelope, is_write, is_list, request_source, request, answer}]
//   problems     [{code, status, title}]
//   scopes       {name: what it permits}
std::string describe();

}  // namespace comptroller::service
