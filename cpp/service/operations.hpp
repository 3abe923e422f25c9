// The operations by name.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "service/operation.hpp"

namespace comptroller::service {

std::span<const Operation> operations();
const Operation* find_operation(std::string_view name);
// Throws not_found if there is none.
const Operation& require_operation(std::string_view name);
// The scope that a client needs to read the records of a table.
std::string_view scope_to_read(std::string_view table);

// Those of each part of the service, which are in its file.
std::vector<Operation> identity_operations();
std::vector<Operation> orchestration_operations();
std::vector<Operation> reward_operations();
std::vector<Operation> journal_operations();
std::vector<Operation> webhook_operations();

// A read with more parameters is not short, because an error may name each of them.
inline constexpr std::size_t max_short_parameters = 200;

// Whether a read is short; see PreparedCall. A list with an invalid request is not.
bool is_short(const Principal& principal, const Operation& operation,
              std::span<const Parameter> parameters);

}  // namespace comptroller::service
