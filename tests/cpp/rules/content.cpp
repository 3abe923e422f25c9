#include "rules/content.hpp"

#include <doctest/doctest.h>

#include "model/records.hpp"

namespace comptroller::rules {
namespace {

// Returns one of two different values of a type.
template <class T>
T value_of(bool second) {
  if constexpr (is_optional<T>) {
    return value_of<typename T::value_type>(second);
  } else if constexpr (std::same_as<T, bool>) {
    return second;
  } else if constexpr (ClosedSet<T>) {
    // A closed set of one value has no second value; the member is then unset.
    return static_cast<T>(enum_texts<T>.size() > 1 && second ? 1 : 0);
  } else if constexpr (std::derived_from<T, Timestamp>) {
    return T{second ? 2 : 1};
  } else if constexpr (std::same_as<T, Metadata>) {
    return Metadata{{{"k", second ? "w" : "v"}}};
  } else if constexpr (is_array<T>) {
    return T(second ? 2 : 1);
  } else if constexpr (std::same_as<T, DerivedInput>) {
    return {};
  } else if constexpr (Record<T>) {
    T record{};
    for_each_field<T>([&]<class F>() { record.*F::member = value_of<typename F::Type>(second); });
    return record;
  } else if constexpr (requires(T value) { value.text; }) {
    T value{};
    value.text = second ? "2" : "1";
    return value;
  } else {
    T value{};
    value.value = second ? "b" : "a";
    return value;
  }
}

template <class T>
constexpr bool counts() {
  return !std::same_as<T, OwnerId> && !std::same_as<T, CustomerId> &&
         !std::same_as<T, SnapshotBalance>;
}

template <class T>
constexpr bool has_two_values() {
  if constexpr (ClosedSet<T>) return enum_texts<T>.size() > 1;
  return true;
}

TEST_CASE_TEMPLATE("two records have equal content exactly if each member is equal", R,
                   StoredIdentity, Orchestration, PayoutGroup, RewardAddress, Claim, Control,
                   Balance, Transfer, FailReason, CryptoEndpoint, FiatSource, FiatDestination,
                   ProfileEndpoint, Source, Destination) {
  const R record = value_of<R>(false);
  CHECK(same_content(record, record));
  CHECK(same_content(R{}, R{}));
  for_each_field<R>([&]<class F>() {
    CAPTURE(F::name);
    using T = typename F::Type;
    R changed = record;
    if constexpr (has_two_values<bare<T>>()) {
      changed.*F::member = value_of<T>(true);
      CHECK(same_content(record, changed) != counts<bare<T>>());
      CHECK(same_content(changed, record) != counts<bare<T>>());
    }
    if constexpr (is_optional<T>) {
      (changed.*F::member).reset();
      CHECK(same_content(record, changed) != counts<bare<T>>());
      CHECK(same_content(changed, record) != counts<bare<T>>());
      CHECK(same_content(changed, changed));
    }
  });
}

TEST_CASE("values are compared, not their texts") {
  Claim a;
  a.amount = NonNegativeAmount{"1.5"};
  Claim b = a;
  b.amount = NonNegativeAmount{"01.500"};
  CHECK(same_content(a, b));
  StoredIdentity one;
  one.metadata = Metadata{{{"a", "1"}, {"b", "2"}}};
  StoredIdentity other = one;
  other.metadata = Metadata{{{"b", "2"}, {"a", "1"}}};
  CHECK(same_content(one, other));
}

}  // namespace
}  // namespace comptroller::rules
