// Authorisation of calls: scopes and tenancy (specification 5).
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
inline constexpr std::string_view webhooks_read = "webhooks:read";
inline constexpr std::string_view webhooks_write = "webhooks:write";
inline constexpr std::string_view read_journal = "journal:read";

// A scope and what it permits. Clients can have the scopes that do not begin with "operator:", and
// have those by default that are not granted by name only.
struct Scope {
  std::string_view name;
  std::string_view grants;
  bool is_by_name = false;
};
inline constexpr std::array<Scope, 16> all_scopes{{
    {"identity:read_identity_control", "list and get identity controls"},
    {"identity:write_identity_control", "create and delete identity controls"},
    {"identity:read_identity", "list and get identities"},
    {"identity:write_identity", "update identities"},
    {"orchestration:read_orchestration", "list and get orchestrations"},
    {"rewards:write_payout_groups", "create and update payout groups"},
    {"rewards:read_payout_groups", "list and get payout groups"},
    {"rewards:read_claims", "list and get claims"},
    {"rewards:write_monitoring_address", "create and update reward addresses"},
    {"rewards:read_monitoring_address", "list and get reward addresses"},
    {"changes:read", "read the changes of the records that the other scopes let it read"},
    {webhooks_read, "list and get webhooks and their deliveries"},
    {webhooks_write,
     "create, update and delete webhooks for events of records that the other scopes let it "
     "read, and read their secrets"},
    {read_journal,
     "read the entries of the journal and their proofs, whose numbers count the writes of all "
     "customers; granted by name only",
     true},
    {operator_read, "read the records of all customers"},
    {operator_write, "write the records of all customers"},
}};

// Returns the operator if `customer` is nullopt, else a client of the customer. `scopes` defaults
// to all scopes that the principal can have, except those that are granted by name only. The
// principal's actor is for a client its id, by default its customer; for the operator `actor`, else
// `operator:` and the client id, else `operator`. Throws invalid_request for an invalid customer,
// client id or actor, and for scopes that the principal cannot have.
Principal make_principal(const std::optional<std::string>& customer,
                         const std::optional<std::string>& client_id,
                         const std::optional<std::vector<std::string>>& scopes,
                         const std::optional<std::string>& actor = {});

// Throws insufficient_scope, which names the missing scope, unless the principal has the scope. The
// operator needs operator:read or operator:write instead. Only the operator can call an operation
// whose scope is one of these two.
void require_scope(const Principal& principal, std::string_view scope, bool is_write);

// Returns the customer whose rows a list shows: the client's own, the customer that the operator
// names, or nullopt for all customers. Throws customer_not_accessible if a client names another
// customer.
std::optional<std::string> listed_customer(const Principal& principal,
                                           const std::optional<Id>& named);

// Returns the customer of a new record: the client's own, the customer that the operator names, or
// `default`.
std::string written_customer(const Principal& principal, const std::optional<Id>& named);

inline Audience audience_of(const Principal& principal) {
  return principal.is_operator() ? Audience::provider : Audience::client;
}

// Whether the principal may see the records of a customer. To the principal, other records do not
// exist.
bool can_see(const Principal& principal, std::string_view customer);

}  // namespace comptroller::service
