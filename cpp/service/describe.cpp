#include "service/describe.hpp"

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/requests.hpp"
#include "model/type_name.hpp"
#include "service/authorisation.hpp"
#include "service/operations.hpp"

namespace comptroller::service {

namespace {

template <class T>
using ByName = std::vector<std::pair<std::string_view, T>>;

// A flag is written only if it is true.
using Flag = std::optional<bool>;

struct FieldDescription {
  RECORD(FieldDescription);
  FIELD(std::string, type);
  FIELD(bool, required);
  FIELD(std::optional<std::size_t>, min_length);
  FIELD(std::optional<std::size_t>, max_length);
  FIELD(std::optional<std::size_t>, index_ranges);  // of a list's filter: ranges_per_value
  FIELD(Flag, may_be_negative);                     // of an amount
  FIELD(Flag, is_derived);                          // computed from other records
  FIELD(Flag, is_completed);                        // always shown, but input may omit it
  FIELD(Flag, is_operators);                        // shown to the operator only
  FIELD(Flag, is_deprecated);
  FIELD(std::optional<std::string_view>, alias_of);
  FIELD(std::optional<std::string>, default_of_all, "", Named<"default">);
  FIELD(std::optional<std::string>, operator_default);  // clients may not set the member
  FIELD(std::string, doc);
};

struct RecordDescription {
  RECORD(RecordDescription);
  FIELD(std::string_view, doc);
  FIELD(ByName<FieldDescription>, members);
};

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

Flag flag(bool is_true) {
  return is_true ? Flag(true) : std::nullopt;
}

// Arrays are required in answers and optional in requests.
enum class Use : std::uint8_t { answer, request };

template <class T>
std::string text_of(const T& value) {
  if constexpr (std::same_as<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (ClosedSet<T>) {
    return std::string(enum_text(value));
  } else {
    return std::to_string(view_of(value));
  }
}

template <class F, Use use>
FieldDescription describe_field() {
  using T = bare<typename F::Type>;
  FieldDescription field;
  field.type = Scalar<T>::kind() + (shows_null<F> ? "?" : "");
  field.required = use == Use::answer ? !is_optional<typename F::Type> || shows_null<F>
                                      : is_required<typename F::Type>;
  if constexpr (requires { T::minimum_length; }) field.min_length = T::minimum_length;
  if constexpr (requires { T::maximum_length; }) field.max_length = T::maximum_length;
  field.index_ranges = ranges_per_value<typename F::Filter>;
  field.may_be_negative = flag(std::same_as<T, Amount>);
  field.is_derived = flag(is_computed<T> || requires { F::is_derived; });
  field.is_completed = flag(is_completed_by_load<T>);
  field.is_operators = flag(!is_shown<T>(Audience::client));
  field.is_deprecated = flag(requires { F::is_deprecated; });
  if constexpr (requires { F::alias_of; }) field.alias_of = F::alias_of;
  field.doc = F::doc;
  if constexpr (requires { F::default_value; }) {
    const std::string text = text_of(T{F::default_value});
    Principal client;
    client.customer = "client";
    const bool is_of_all = F::template default_for<T>(client).has_value();
    (is_of_all ? field.default_of_all : field.operator_default) = text;
    field.doc += "; default " + text;
  }
  return field;
}

template <Record R, Use use>
RecordDescription describe_record() {
  RecordDescription record;
  record.doc = R::meaning;
  for_each_field<R>(
      [&]<class F>() { record.members.emplace_back(F::name, describe_field<F, use>()); });
  return record;
}

template <Use use, Record... R>
ByName<RecordDescription> describe_records() {
  return {{type_name<R>(), describe_record<R, use>()}...};
}

template <Record... R>
ByName<RecordDescription> describe_requests(Requests<R...> /*all*/) {
  return describe_records<Use::request, R...>();
}

template <Record... R>
std::vector<Resource> describe_resources() {
  return {{R::table, type_name<R>()}...};
}

template <class E>
ByName<std::string_view> describe_values() {
  ByName<std::string_view> values;
  for (const EnumValue& value : values_of<E>) values.emplace_back(value.text, value.meaning);
  return values;
}

template <class... E>
ByName<ByName<std::string_view>> describe_closed_sets() {
  return {{type_name<E>(), describe_values<E>()}...};
}

}  // namespace

std::string describe() {
  Description description;
  description.resources = describe_resources<Identity, Control, Orchestration, PayoutGroup,
                                             RewardAddress, Claim, Balance>();
  description.records =
      describe_records<Use::answer, Identity, StatusDetails, Control, Orchestration, Transfer,
                       FailReason, Source, Destination, CryptoEndpoint, FiatSource, FiatDestination,
                       ProfileEndpoint, PayoutGroup, RewardAddress, Claim, Balance, Permission>();
  description.requests = describe_requests(AllRequests{});
  description.enums = describe_closed_sets<ControlType, SetBy, Ledger, ClaimStatus, ScheduleType,
                                           Order, IdentityStatus, Action>();
  description.operations = operations();
  description.problems = problems;
  for (const Scope& scope : all_scopes) description.scopes.emplace_back(scope.name, scope.grants);
  return json::to_text(description);
}

}  // namespace comptroller::service
