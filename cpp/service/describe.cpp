#include "service/describe.hpp"

#include "model/requests.hpp"
#include "model/type_name.hpp"
#include "service/authorisation.hpp"
#include "service/operations.hpp"

namespace comptroller::service {

namespace {

using json::append_name;
using json::append_string;

void append_member(std::string& out, std::string_view name, std::string_view text) {
  append_name(out, name);
  append_string(out, text);
}

// What a value is to its reader: a record or closed set by name, else the kind of scalar.
template <class T>
std::string kind_of() {
  if constexpr (is_array<T>) {
    return kind_of<typename T::value_type>() + "[]";
  } else if constexpr (Record<T> || ClosedSet<T>) {
    return std::string(type_name<T>());
  } else if constexpr (std::same_as<T, bool>) {
    return "boolean";
  } else if constexpr (std::same_as<T, Metadata>) {
    return "metadata";
  } else if constexpr (std::same_as<T, PageLimit>) {
    return "integer";
  } else if constexpr (std::same_as<T, NullableTimestamp>) {
    return "timestamp?";
  } else if constexpr (std::derived_from<T, Timestamp>) {
    return "timestamp";
  } else if constexpr (std::derived_from<T, NonNegativeAmount> || std::same_as<T, Amount>) {
    return "amount";
  } else if constexpr (std::derived_from<T, Uuid>) {
    return "uuid";
  } else if constexpr (std::derived_from<T, Id>) {
    return "id";
  } else if constexpr (std::same_as<T, Word>) {
    return "word";
  } else {
    return "string";
  }
}

// The limits of a text, for those who write a schema of it.
template <class T>
void append_lengths(std::string& out) {
  if constexpr (requires { T::minimum_length; }) {
    append_name(out, "min_length");
    out += std::to_string(T::minimum_length);
  }
  if constexpr (requires { T::maximum_length; }) {
    append_name(out, "max_length");
    out += std::to_string(T::maximum_length);
  }
}

template <Record R>
void append_description(std::string& out) {
  append_name(out, type_name<R>());
  out += '{';
  for_each_field<R>([&]<class F>() {
    using T = typename F::Type;
    append_name(out, F::name);
    out += '{';
    append_member(out, "type", kind_of<bare<T>>());
    append_name(out, "required");
    out += !is_optional<T> && !is_array<T> ? "true" : "false";
    append_lengths<bare<T>>(out);
    append_member(out, "doc", F::doc);
    out += '}';
  });
  out += '}';
}

template <Record... R>
void append_descriptions(std::string& out) {
  (append_description<R>(out), ...);
}

template <ClosedSet... E>
void append_closed_sets(std::string& out) {
  const auto append_one = [&]<ClosedSet Set>() {
    append_name(out, type_name<Set>());
    out += '[';
    for (const std::string_view word : words_of<Set>) {
      if (out.back() != '[') out += ',';
      append_string(out, word);
    }
    out += ']';
  };
  (append_one.template operator()<E>(), ...);
}

void append_operations(std::string& out) {
  constexpr std::array<std::string_view, 6> shapes{"parameters",  "path_id",    "body",
                                                   "id_and_body", "id_in_both", "either"};
  out += '[';
  for (const Operation& operation : operations()) {
    if (out.back() != '[') out += ',';
    out += '{';
    append_member(out, "name", operation.name);
    append_member(out, "scope", operation.scope);
    append_name(out, "is_write");
    out += operation.is_write ? "true" : "false";
    append_member(out, "shape", shapes[static_cast<std::size_t>(operation.shape)]);
    append_member(out, "request", operation.request);
    append_member(out, "answer", operation.answer);
    append_member(out, "doc", operation.doc);
    out += '}';
  }
  out += ']';
}

void append_problems(std::string& out) {
  out += '[';
  for (const Problem& problem : problems) {
    if (out.back() != '[') out += ',';
    out += '{';
    append_member(out, "code", problem.code);
    append_name(out, "status");
    out += std::to_string(problem.status);
    append_member(out, "title", problem.title);
    out += '}';
  }
  out += ']';
}

}  // namespace

std::string describe() {
  std::string out = R"({"records":{)";
  append_descriptions<Identity, StatusDetails, Control, Orchestration, Transfer, FailReason, Source,
                      Destination, CryptoEndpoint, FiatSource, FiatDestination, ProfileEndpoint,
                      PayoutGroup, RewardAddress, Claim, Balance, Permission>(out);
  out += R"(},"requests":{)";
  append_descriptions<
      ById, ListIdentities, UpdateIdentity, PutIdentity, PermitsAction, ListControls, CreateControl,
      DeleteControl, ListOrchestrations, ListPayoutGroups, CreatePayoutGroup, UpdatePayoutGroup,
      ObservePayoutGroup, ListRewardAddresses, CreateRewardAddress, UpdateRewardAddress,
      ObserveRewardAddress, ListBalances, ListClaims, SubmitClaim, ConfirmClaim, FailClaim>(out);
  out += R"(},"enums":{)";
  append_closed_sets<ControlType, SetBy, Ledger, ClaimStatus, ScheduleType, Order, IdentityStatus,
                     Action>(out);
  out += R"(},"operations":)";
  append_operations(out);
  out += R"(,"problems":)";
  append_problems(out);
  out += R"(,"scopes":{)";
  for (const Scope& scope : client_scopes) append_member(out, scope.name, scope.grants);
  for (const Scope& scope : operator_scopes) append_member(out, scope.name, scope.grants);
  out += "}}";
  return out;
}

}  // namespace comptroller::service
