// The record types that have a table.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "model/error.hpp"
#include "model/lists.hpp"
#include "model/wording.hpp"

namespace comptroller::store {

// Calls `visitor.operator()<R>()` for each record type that has a table.
template <class Visitor>
void for_each_table(Visitor&& visitor) {
  for_each_list([&]<class R, class Request>() { visitor.template operator()<R>(); });
}

// Calls `visitor.operator()<R>()` for the record type of this name, in which dashes may replace
// underscores. Throws invalid_request for an unknown name.
template <class Visitor>
void visit_table(std::string_view kind, Visitor&& visitor) {
  std::string table(kind);
  std::ranges::replace(table, '-', '_');
  bool is_known = false;
  std::vector<std::string_view> known;
  for_each_table([&]<class R>() {
    known.push_back(R::table);
    if (R::table != table) return;
    is_known = true;
    visitor.template operator()<R>();
  });
  if (is_known) return;
  throw Error::invalid("kind", '"' + shorten(kind) + "\" " + unknown_name_message(table, known));
}

}  // namespace comptroller::store
