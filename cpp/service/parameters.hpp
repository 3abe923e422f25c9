// Parameters, such as those of a query string, as a request record.
#pragma once

#include <algorithm>
#include <bitset>
#include <span>
#include <string>
#include <vector>

#include "model/fields.hpp"
#include "model/metadata.hpp"
#include "model/nearest.hpp"
#include "model/scalar.hpp"

namespace comptroller::service {

struct Parameter {
  std::string name;
  std::string value;
};

// The most values an array parameter takes (specification 8).
inline constexpr std::size_t most_array_values = 100;

// Gathers what is refused, so that a caller learns all at once.
class ParameterErrors {
 public:
  void add(std::string_view field, std::string message) {
    errors_.push_back({std::string(field), std::move(message)});
  }
  void throw_if_any();

 private:
  std::vector<FieldError> errors_;
};

// Refuses all of them, for what takes none.
void refuse_parameters(std::span<const Parameter> parameters);

// Sets the members of `request` that parameters name. Refuses with invalid_request unknown names,
// single-valued ones that come twice, more than 100 values of an array, and values that are none.
template <Record R>
void read_parameters(std::span<const Parameter> parameters, R& request,
                     std::span<const std::string_view> allowed) {
  ParameterErrors errors;
  std::bitset<R::fields::count> seen;
  for (const Parameter& parameter : parameters) {
    bool is_known = false;
    for_each_indexed_field<R>([&]<class F, std::size_t I>() {
      if (F::name != parameter.name || std::ranges::find(allowed, F::name) == allowed.end()) return;
      is_known = true;
      using T = typename F::Type;
      if constexpr (is_array<T>) {
        auto& values = request.*F::member;
        if (values.size() == most_array_values) {
          if (!seen[I]) errors.add(F::name, "takes at most 100 values");
          seen.set(I);
        } else if (auto value = parse_scalar<typename T::value_type>(parameter.value)) {
          values.push_back(*std::move(value));
        } else {
          errors.add(F::name, refused_text(expectation<typename T::value_type>(), parameter.value));
        }
      } else if constexpr (!std::same_as<bare<T>, Metadata>) {
        if (seen[I]) {
          errors.add(F::name, "is there twice");
        } else if (auto value = parse_scalar<bare<T>>(parameter.value)) {
          request.*F::member = *std::move(value);
        } else {
          errors.add(F::name, refused_text(expectation<bare<T>>(), parameter.value));
        }
        seen.set(I);
      }
    });
    if (!is_known) errors.add(parameter.name, unknown_name_message(parameter.name, allowed));
  }
  for_each_indexed_field<R>([&]<class F, std::size_t I>() {
    using T = typename F::Type;
    const bool is_asked = std::ranges::find(allowed, F::name) != allowed.end();
    if (!is_optional<T> && !is_array<T> && is_asked && !seen[I]) errors.add(F::name, "is required");
  });
  errors.throw_if_any();
}

}  // namespace comptroller::service
