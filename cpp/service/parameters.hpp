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

// The maximum number of values of an array parameter (specification 8).
inline constexpr std::size_t max_array_values = 100;

// Sets a member to the value of a parameter. Returns the message of an invalid value.
template <class T>
std::optional<std::string> set_member(T& member, std::string_view text, bool is_repeated) {
  if constexpr (Parsed<T>) {  // other members only come in the body
    if (is_repeated) return "appears more than once";
    auto value = FieldType<T>::parse(text);
    if (!value) {
      std::string refusal = refused_text(FieldType<T>::expectation(), text);
      std::string with_plus(text);
      std::ranges::replace(with_plus, ' ', '+');
      if (with_plus != text && FieldType<T>::parse(with_plus)) refusal += "; write + as %2B";
      return refusal;
    }
    member = *std::move(value);
  }
  return std::nullopt;
}
template <class T>
std::optional<std::string> set_member(std::vector<T>& values, std::string_view text, bool) {
  if (values.size() == max_array_values) return "takes at most 100 values";
  std::optional<std::string> refusal = set_member(values.emplace_back(), text, false);
  if (refusal) values.pop_back();
  return refusal;
}
template <class T>
std::optional<std::string> set_member(std::optional<T>& member, std::string_view text,
                                      bool is_repeated) {
  return set_member(member.emplace(), text, is_repeated);
}

// Sets the members of `request` that parameters name. Throws invalid_request for unknown names,
// repeated single-valued parameters, more than 100 values of an array, and invalid values.
template <Record R>
void read_parameters(std::span<const Parameter> parameters, R& request,
                     std::span<const std::string_view> allowed) {
  std::vector<FieldError> errors;
  std::bitset<field_count<R>> seen;
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
      const std::optional<std::string> refusal =
          set_member(request.*F::member, parameter.value, seen[I]);
      seen.set(I);
      const FieldError error{std::string(F::name), refusal.value_or("")};
      if (refusal && (errors.empty() || errors.back() != error)) errors.push_back(error);
    });
  }
  for_each_indexed_field<R>([&]<class F, std::size_t I>() {
    if (is_required<typename F::Type> && is_allowed(F::name) && !seen[I])
      errors.push_back({std::string(F::name), "is required"});
  });
  if (!errors.empty()) throw Error::fields(std::move(errors));
}

}  // namespace comptroller::service
