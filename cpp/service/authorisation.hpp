// Who may do what: scopes and tenancy, decided once, here, for every door (specification 5).
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

// The scopes a client can have, each with what it grants.
struct Scope {
  std::string_view name;
  std::string_view grants;
};
inline constexpr std::array<Scope, 10> client_scopes{{
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
}};
inline constexpr std::array<Scope, 2> operator_scopes{{
    {operator_read, "every read, of every customer"},
    {operator_write, "every write, for every customer"},
}};

// A principal with the scopes that are named, or with all of its kind. Refuses with invalid_request
// a customer or client id that is none, and scopes its kind does not have.
Principal make_principal(const std::optional<std::string>& customer,
                         const std::optional<std::string>& client_id,
                         const std::optional<std::vector<std::string>>& scopes);

// Refuses, naming what is missing, a principal without the scope: insufficient_scope. The operator
// needs operator:read or operator:write instead, and those are asked for by name where no client
// may.
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
