// Reads parameters, such as those of a query string, into a request record.
#pragma once

#include <algorithm>
#include <bitset>
#include <span>
#include <string>
#include <vector>

#include "model/fields.hpp"
#include "model/scalar.hpp"
#include "model/wording.hpp"

namespace comptroller::service {

struct Parameter {
  std::string name;
  std::string value;
};

// The most values an array parameter takes (specification 8).
inline constexpr std::size_t most_array_values = 100;

// Throws invalid_request unless there are none.
void refuse_parameters(std::span<const Parameter> parameters);

// Sets the member that a parameter names. Members without a text form come in the body only.
template <class F, Record R>
void read_parameter(const Parameter& parameter, bool is_repeated, R& request,
                    std::vector<FieldError>& errors) {
  using T = typename F::Type;
  if constexpr (is_array<T>) {
    using Element = typename T::value_type;
    auto& values = request.*F::member;
    if (values.size() == most_array_values) {
      // Reported once per parameter.
      if (errors.empty() || errors.back().field != F::name) {
        errors.push_back({std::string(F::name), "takes at most 100 values"});
      }
    } else if (auto value = Scalar<Element>::parse(parameter.value)) {
      values.push_back(*std::move(value));
    } else {
      errors.push_back(
          {std::string(F::name), refused_text(Scalar<Element>::expectation(), parameter.value)});
    }
  } else if constexpr (Parsed<bare<T>>) {
    auto value = Scalar<bare<T>>::parse(parameter.value);
    if (is_repeated) {
      errors.push_back({std::string(F::name), "is there twice"});
    } else if (!value) {
      errors.push_back(
          {std::string(F::name), refused_text(Scalar<bare<T>>::expectation(), parameter.value)});
    } else if constexpr (is_optional<T>) {
      request.*F::member = std::move(value);
    } else {
      request.*F::member = *std::move(value);
    }
  }
}

// Sets the members of `request` that parameters name. Throws invalid_request for unknown names,
// repeated single-valued parameters, more than 100 values of an array, and invalid values.
template <Record R>
void read_parameters(std::span<const Parameter> parameters, R& request,
                     std::span<const std::string_view> allowed) {
  std::vector<FieldError> errors;
  std::bitset<R::fields::count> seen;
  const auto is_allowed = [&](std::string_view name) {
    return std::ranges::find(allowed, name) != allowed.end();
  };
  for (const Parameter& parameter : parameters) {
    if (!is_allowed(parameter.name)) {
      errors.push_back({parameter.name, unknown_name_message(parameter.name, allowed)});
      continue;
    }
    for_each_indexed_field<R>([&]<class F, std::size_t I>() {
      if (F::name != parameter.name) return;
      read_parameter<F>(parameter, seen[I], request, errors);
      seen.set(I);
    });
  }
  for_each_indexed_field<R>([&]<class F, std::size_t I>() {
    using T = typename F::Type;
    constexpr bool is_required = !is_optional<T> && !is_array<T>;
    if (is_required && is_allowed(F::name) && !seen[I])
      errors.push_back({std::string(F::name), "is required"});
  });
  if (!errors.empty()) throw Error::fields(std::move(errors));
}

}  // namespace comptroller::service
