#include "service/authorisation.hpp"

#include <algorithm>

#include "model/error.hpp"
#include "model/wording.hpp"

namespace comptroller::service {

Principal make_principal(const std::optional<std::string>& customer,
                         const std::optional<std::string>& client_id,
                         const std::optional<std::vector<std::string>>& scopes) {
  Principal principal;
  if (customer) principal.customer = require_scalar<Id>("customer", *customer).value;
  if (client_id) principal.client_id = require_scalar<Label>("client_id", *client_id).value;
  if (!client_id && customer) principal.client_id = *principal.customer;
  if (customer && principal.client_id == operator_name) {
    throw Error::invalid("client_id", "is reserved for the operator; choose another id");
  }
  std::vector<std::string_view> known;
  for (const Scope& scope : all_scopes) {
    if (scope.name.starts_with("operator:") == principal.is_operator()) known.push_back(scope.name);
  }
  if (!scopes) principal.scopes.assign(known.begin(), known.end());
  for (const std::string& scope : scopes.value_or(std::vector<std::string>{})) {
    if (std::ranges::find(known, scope) == known.end()) {
      throw Error::invalid("scopes",
                           "\"" + shorten(scope) + "\" " + unknown_name_message(scope, known));
    }
    principal.scopes.push_back(scope);
  }
  return principal;
}

void require_scope(const Principal& principal, std::string_view scope, bool is_write) {
  const std::string_view needed =
      principal.is_operator() ? (is_write ? operator_write : operator_read) : scope;
  if (std::ranges::find(principal.scopes, needed) != principal.scopes.end()) return;
  throw Error(Code::insufficient_scope, "this needs the scope " + std::string(needed));
}

std::optional<std::string> listed_customer(const Principal& principal,
                                           const std::optional<Id>& named) {
  if (named && !can_see(principal, named->value)) {
    throw Error::field(Code::customer_not_accessible, "customer_id",
                       "a client can name only its own customer");
  }
  if (!principal.is_operator()) return principal.customer;
  return named ? std::optional(named->value) : std::nullopt;
}

std::string written_customer(const Principal& principal, const std::optional<Id>& named) {
  return listed_customer(principal, named).value_or(default_customer);
}

bool can_see(const Principal& principal, std::string_view customer) {
  return principal.is_operator() || principal.customer == customer;
}

}  // namespace comptroller::service
