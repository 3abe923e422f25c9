// The id and the customer of a record in a row, as texts.
#pragma once

#include <string>
#include <utility>

#include "store/columns.hpp"

namespace comptroller::store {

// Returns the id of the record in a row, or if not `is_id` its customer; empty if it has none.
template <Record R, bool is_id>
std::string text_in(const Row& row) {
  constexpr bool has_id = requires(R record) { record.id; };
  constexpr std::string_view name = !is_id ? "customer_id" : has_id ? "id" : "address_id";
  Label text;
  for_each_indexed_field<R>([&]<class F, std::size_t I>() {
    if constexpr (F::name == name) {
      const auto field = row.field<F, I>();
      if (!field.is_unset()) field.visit([&](const auto& view) { assign(text, view); });
    }
  });
  return std::move(text.value);
}
template <Record R>
std::string id_in(const Row& row) {
  return text_in<R, true>(row);
}
template <Record R>
std::string customer_in(const Row& row) {
  return text_in<R, false>(row);
}

}  // namespace comptroller::store
