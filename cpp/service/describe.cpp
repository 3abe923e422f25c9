#include "service/describe.hpp"

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "model/requests.hpp"
#include "model/type_name.hpp"
#include "service/authorisation.hpp"
#include "service/operations.hpp"

namespace comptroller::service {

namespace {

template <class T>
using Named = std::vector<std::pair<std::string_view, T>>;

struct FieldDescription {
  std::string type;
  bool required = false;
  std::optional<std::size_t> min_length;
  std::optional<std::size_t> max_length;
  std::optional<std::size_t> index_ranges;  // of a list's filter: ranges_a_value
  std::string_view doc;

  using fields = Fields<Field<&FieldDescription::type>, Field<&FieldDescription::required>,
                        Field<&FieldDescription::min_length>, Field<&FieldDescription::max_length>,
                        Field<&FieldDescription::index_ranges>, Field<&FieldDescription::doc>>;
};

struct Description {
  Named<Named<FieldDescription>> records;
  Named<Named<FieldDescription>> requests;
  Named<std::span<const std::string_view>> enums;
  std::span<const Operation> operations;
  std::span<const Problem> problems;
  Named<std::string_view> scopes;

  using fields = Fields<Field<&Description::records>, Field<&Description::requests>,
                        Field<&Description::enums>, Field<&Description::operations>,
                        Field<&Description::problems>, Field<&Description::scopes>>;
};

template <Record R>
void describe_record(Named<Named<FieldDescription>>& records) {
  auto& fields = records.emplace_back(type_name<R>(), Named<FieldDescription>{}).second;
  for_each_field<R>([&]<class F>() {
    using T = typename F::Type;
    FieldDescription& field = fields.emplace_back(F::name, FieldDescription{}).second;
    field.type = Scalar<bare<T>>::kind();
    field.required = is_required<T>;
    if constexpr (requires { bare<T>::minimum_length; }) field.min_length = bare<T>::minimum_length;
    if constexpr (requires { bare<T>::maximum_length; }) field.max_length = bare<T>::maximum_length;
    field.index_ranges = ranges_a_value<typename F::Filter>;
    field.doc = F::doc;
  });
}

template <Record... R>
Named<Named<FieldDescription>> describe_records() {
  Named<Named<FieldDescription>> records;
  (describe_record<R>(records), ...);
  return records;
}

template <ClosedSet... E>
Named<std::span<const std::string_view>> describe_closed_sets() {
  return {{type_name<E>(), words_of<E>}...};
}

}  // namespace

std::string describe() {
  Description description;
  description.records =
      describe_records<Identity, StatusDetails, Control, Orchestration, Transfer, FailReason,
                       Source, Destination, CryptoEndpoint, FiatSource, FiatDestination,
                       ProfileEndpoint, PayoutGroup, RewardAddress, Claim, Balance, Permission>();
  description.requests = describe_records<
      ById, ListIdentities, UpdateIdentity, PutIdentity, PermitsAction, ListControls, CreateControl,
      DeleteControl, ListOrchestrations, ListPayoutGroups, CreatePayoutGroup, UpdatePayoutGroup,
      ObservePayoutGroup, ListRewardAddresses, CreateRewardAddress, UpdateRewardAddress,
      ObserveRewardAddress, ListBalances, ListClaims, SubmitClaim, ConfirmClaim, FailClaim>();
  description.enums = describe_closed_sets<ControlType, SetBy, Ledger, ClaimStatus, ScheduleType,
                                           Order, IdentityStatus, Action>();
  description.operations = operations();
  description.problems = problems;
  for (const Scope& scope : all_scopes) description.scopes.emplace_back(scope.name, scope.grants);
  return json::to_text(description);
}

}  // namespace comptroller::service
