// Records as canonical JSON (RFC 8785): members in the order of their names, no white space, the
// shortest escapes. Unset and derived members are left out. A member that is itself a document
// (Metadata, the two ends of an orchestration) is a string of its JSON text, because RFC 8785 would
// round the numbers in it.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "json/writer.hpp"

namespace comptroller::json {

namespace detail {

template <class T>
consteval bool is_document() {
  if constexpr (requires { bare<T>::storage; }) return bare<T>::storage == StorageClass::document;
  return Record<bare<T>>;
}

// The text of a member of type T as canonical JSON.
template <class T>
void write_canonical_value(JsonWriter& writer, const auto& view) {
  if constexpr (!is_document<T>()) {
    writer.write(view);
  } else if constexpr (requires { view.checked(); }) {
    writer.write(std::string_view(view.checked()));
  } else {
    std::string text;
    JsonWriter(text).write(view);
    writer.write(std::string_view(text));
  }
}

// The positions of the fields of R in the order of their names, which are ASCII.
template <Record R>
inline constexpr auto sorted_positions = [] {
  std::array<std::size_t, field_count<R>> positions{};
  for (std::size_t place = 0; place < positions.size(); ++place) positions[place] = place;
  std::ranges::sort(positions, {}, [](std::size_t place) { return field_names<R>[place]; });
  return positions;
}();

template <class... F>
std::tuple<F...> tuple_of(Fields<F...>);

}  // namespace detail

// Calls `visitor.operator()<F, I>()` for each stored field of R, in the order of their names.
template <Record R, class Visitor>
void for_each_sorted_field(Visitor&& visitor) {
  [&]<std::size_t... Place>(std::index_sequence<Place...>) {
    const auto visit = [&]<std::size_t I>() {
      using F = std::tuple_element_t<I, decltype(detail::tuple_of(FieldsOf<R>{}))>;
      if constexpr (!is_derived<bare<typename F::Type>>) visitor.template operator()<F, I>();
    };
    (visit.template operator()<detail::sorted_positions<R>[Place]>(), ...);
  }(std::make_index_sequence<field_count<R>>{});
}

// Appends the canonical JSON of an R whose field values come from a record or a row of the store.
template <Record R, class Source>
void append_canonical(std::string& out, const Source& source) {
  JsonWriter writer(out);
  writer.put("{");
  for_each_sorted_field<R>([&]<class F, std::size_t I>() {
    const auto field = source.template field<F, I>();
    if (field.is_unset()) return;
    writer.template put_name<F>();
    field.visit(
        [&](const auto& view) { detail::write_canonical_value<typename F::Type>(writer, view); });
  });
  writer.put("}");
}

// The members in which two records differ, each as a JSON object of canonical members.
struct Difference {
  std::string before;
  std::string after;

  bool is_empty() const { return before == after; }
};

template <Record R>
Difference difference(const R& before, const R& after) {
  Difference difference;
  std::string old_value;
  std::string new_value;
  const auto value = [&]<class F>(std::string& out, const auto& field) {
    out.clear();
    if (field.is_unset()) return;
    JsonWriter writer(out);
    field.visit(
        [&](const auto& view) { detail::write_canonical_value<typename F::Type>(writer, view); });
  };
  const auto add = [](std::string& object, std::string_view name, const std::string& text) {
    if (text.empty()) return;
    object.append(object.empty() ? "{\"" : ",\"").append(name).append("\":").append(text);
  };
  for_each_sorted_field<R>([&]<class F, std::size_t I>() {
    value.template operator()<F>(old_value, RecordFields<R>{before}.template field<F, I>());
    value.template operator()<F>(new_value, RecordFields<R>{after}.template field<F, I>());
    if (old_value == new_value) return;
    add(difference.before, F::name, old_value);
    add(difference.after, F::name, new_value);
  });
  for (std::string* object : {&difference.before, &difference.after}) {
    *object += object->empty() ? "{}" : "}";
  }
  return difference;
}

}  // namespace comptroller::json
