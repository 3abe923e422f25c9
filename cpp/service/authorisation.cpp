#include "service/authorisation.hpp"

#include <algorithm>

#include "model/error.hpp"
#include "model/wording.hpp"

namespace comptroller::service {

namespace {

constexpr std::string_view operator_name = "operator";
constexpr std::string_view operator_prefix = "operator:";  // before the client id of an operator
using OperatorClientId = Text<1, Label::maximum_length - operator_prefix.size()>;

std::string actor_of_client(const std::string& client_id) {
  std::string actor = require_scalar<Label>("client_id", client_id).value;
  if (actor == operator_name || actor.starts_with(operator_prefix)) {
    throw Error::invalid("client_id", "is reserved for the operator; choose another id");
  }
  return actor;
}

std::string actor_of_operator(const std::optional<std::string>& client_id,
                              const std::optional<std::string>& actor) {
  if (actor) return require_scalar<Label>("actor", *actor).value;
  if (!client_id) return std::string(operator_name);
  return std::string(operator_prefix) +
         require_scalar<OperatorClientId>("client_id", *client_id).value;
}

}  // namespace

Principal make_principal(const std::optional<std::string>& customer,
                         const std::optional<std::string>& client_id,
                         const std::optional<std::vector<std::string>>& scopes,
                         const std::optional<std::string>& actor) {
  Principal principal;
  if (customer) {
    principal.customer = require_scalar<Id>("customer", *customer).value;
    if (actor) throw Error::invalid("actor", "is for the operator; name a client by client_id");
    principal.actor = actor_of_client(client_id.value_or(*principal.customer));
  } else {
    principal.actor = actor_of_operator(client_id, actor);
  }
  std::vector<std::string_view> known;
  for (const Scope& scope : all_scopes) {
    if (scope.name.starts_with("operator:") != principal.is_operator()) continue;
    known.push_back(scope.name);
    if (!scopes && !scope.is_by_name) principal.scopes.emplace_back(scope.name);
  }
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
