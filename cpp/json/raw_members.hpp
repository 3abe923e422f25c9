// The parts of a JSON value as the JSON texts that they have in it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace comptroller::json {

// The texts of the members of an object, by name.
using RawMembers = std::map<std::string, std::string, std::less<>>;

// Throws unusable, as for a damaged store, if the text is not an object.
RawMembers raw_members(std::string_view object);
// Returns a member that is a string without escapes; empty if it is missing.
std::string plain_text(const RawMembers& members, std::string_view name);
// Throws unusable if the text is not an array.
std::vector<std::string> raw_elements(std::string_view array);
// Returns the members as an object again.
std::string to_object(const RawMembers& members);

}  // namespace comptroller::json
