// Describes the types of requests and answers, for the description of the core.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/filters.hpp"
#include "model/principal.hpp"
#include "model/scalar.hpp"
#include "model/type_name.hpp"

namespace comptroller::service {

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

// The types that operations use, each once, in the order of their first use.
struct TypeDescriptions {
  ByName<RecordDescription> records;  // of answers, and their members
  ByName<RecordDescription> requests;
  ByName<ByName<std::string_view>> enums;

  template <class Description>
  static bool has(const ByName<Description>& described, std::string_view name) {
    return std::ranges::find(described, name, &std::pair<std::string_view, Description>::first) !=
           described.end();
  }
};

inline Flag flag(bool is_true) {
  return is_true ? Flag(true) : std::nullopt;
}

// Arrays are required in answers and optional in requests.
enum class Use : std::uint8_t { answer, request };

template <class T>
std::string text_of_default(const T& value) {
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
  field.type = FieldType<T>::kind() + (shows_null<F> ? "?" : "");
  field.required = use == Use::answer ? !is_optional<typename F::Type> || shows_null<F>
                                      : is_required<typename F::Type>;
  if constexpr (requires { T::minimum_length; }) field.min_length = T::minimum_length;
  if constexpr (requires { T::maximum_length; }) field.max_length = T::maximum_length;
  field.index_ranges = ranges_per_value<typename F::Filter>;
  field.may_be_negative = flag(std::same_as<T, Amount>);
  field.is_derived = flag(is_derived<T> || requires { F::is_derived; });
  field.is_completed = flag(is_completed_by_load<T>);
  field.is_operators = flag(!is_shown<T>(Audience::client));
  field.is_deprecated = flag(requires { F::is_deprecated; });
  if constexpr (requires { F::alias_of; }) field.alias_of = F::alias_of;
  field.doc = F::doc;
  if constexpr (requires { F::default_value; }) {
    const std::string text = text_of_default(T{F::default_value});
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

template <class E>
void describe_enum(TypeDescriptions& types) {
  if (types.has(types.enums, type_name<E>())) return;
  auto& values = types.enums.emplace_back(type_name<E>(), ByName<std::string_view>{}).second;
  for (const EnumValue& value : values_of<E>) values.emplace_back(value.text, value.meaning);
}

// Adds a record, and the records and closed sets of its members.
template <Record R, Use use>
void describe_record_once(TypeDescriptions& types) {
  auto& described = use == Use::answer ? types.records : types.requests;
  if (types.has(described, type_name<R>())) return;
  described.emplace_back(type_name<R>(), describe_record<R, use>());
  for_each_field<R>([&]<class F>() {
    using T = item<bare<typename F::Type>>;
    if constexpr (ClosedSet<T>) describe_enum<T>(types);
    if constexpr (Record<T>) describe_record_once<T, Use::answer>(types);
  });
}

// Adds the types of an operation. A request that is a stored record is described as an answer.
template <Record Request, Record Answer>
void describe_types(TypeDescriptions& types) {
  constexpr bool is_stored = requires { Request::table; };
  describe_record_once<Request, is_stored ? Use::answer : Use::request>(types);
  describe_record_once<Answer, Use::answer>(types);
}

}  // namespace comptroller::service
