#include "service/describe.hpp"

#include <span>

#include "json/writer.hpp"
#include "service/authorisation.hpp"
#include "service/operations.hpp"
#include "service/type_descriptions.hpp"

namespace comptroller::service {

namespace {

// A resource of the service. Its name is also that of loads, exports and streams of its records.
struct Resource {
  RECORD(Resource);
  FIELD(std::string_view, name);
  FIELD(std::string_view, record);
};

struct Description {
  RECORD(Description);
  FIELD(std::vector<Resource>, resources);
  FIELD(ByName<RecordDescription>, records);
  FIELD(ByName<RecordDescription>, requests);
  FIELD(ByName<ByName<std::string_view>>, enums);
  FIELD(std::span<const Operation>, operations);
  FIELD(std::span<const Problem>, problems);
  FIELD(ByName<std::string_view>, scopes);
};

}  // namespace

std::string describe() {
  Description description;
  TypeDescriptions types;
  for (const Operation& operation : operations()) {
    operation.describe_types(types);
    const std::string_view name = operation.name;
    if (!operation.is_list) continue;
    description.resources.push_back({name.substr(0, name.find('.')), operation.answer});
  }
  description.records = std::move(types.records);
  description.requests = std::move(types.requests);
  description.enums = std::move(types.enums);
  description.operations = operations();
  description.problems = problems;
  for (const Scope& scope : all_scopes) description.scopes.emplace_back(scope.name, scope.grants);
  return json::to_text(description);
}

}  // namespace comptroller::service
