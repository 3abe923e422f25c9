// Who may do what: scopes and tenancy, for every caller of the service (specification 5).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "model/principal.hpp"
#include "model/scalar.hpp"

namespace comptroller::service {

inline constexpr std::string_view operator_read = "operator:read";
inline constexpr std::string_view operator_write = "operator:write";

// A scope and what it grants. A client has those that do not begin with "operator:".
struct Scope {
  std::string_view name;
  std::string_view grants;
};
inline constexpr std::array<Scope, 12> all_scopes{{
    {"identity:read_identity_control", "list identity controls"},
    {"identity:write_identity_control", "create and delete identity controls"},
    {"identity:read_identity", "get and list identities"},
    {"identity:write_identity", "update identities"},
    {"orchestration:read_orchestration", "list orchestrations"},
    {"rewards:write_payout_groups", "create and update payout groups"},
    {"rewards:read_payout_groups", "list payout groups"},
    {"rewards:read_claims", "list claims"},
    {"rewards:write_monitoring_address", "create and update reward addresses"},
    {"rewards:read_monitoring_address", "list reward addresses"},
    {operator_read, "every read, of every customer"},
    {operator_write, "every write, for every customer"},
}};

// A principal with the given scopes, by default all that it can have: an operator without a
// customer, else a client. Throws invalid_request for an invalid customer or client id, and for
// scopes that it cannot have.
Principal make_principal(const std::optional<std::string>& customer,
                         const std::optional<std::string>& client_id,
                         const std::optional<std::vector<std::string>>& scopes);

// Throws insufficient_scope, naming the missing scope, unless the principal has it. An operator
// needs operator:read or operator:write instead; an operation that names one of these itself is for
// operators only.
void require_scope(const Principal& principal, std::string_view scope, bool is_write);

// The customer whose rows a list shows: a client's own, the one an operator names, or none for all.
// Refuses a client that names another: customer_not_accessible.
std::optional<std::string> listed_customer(const Principal& principal,
                                           const std::optional<Id>& named);

// The customer a new record belongs to: a client's own, the one an operator names, or `default`.
std::string written_customer(const Principal& principal, const std::optional<Id>& named);

// Whether a record of this customer exists as far as the principal can tell.
bool can_see(const Principal& principal, std::string_view customer);

}  // namespace comptroller::service
