#include "arrow/layout.hpp"

#include <algorithm>
#include <iterator>

#include "model/wording.hpp"
#include "rules/controls.hpp"
#include "store/identities.hpp"
#include "store/reward_addresses.hpp"
#include "store/tables.hpp"

namespace comptroller::arrow {

namespace {

template <Record R>
std::vector<ShownColumn> columns_of(Audience audience) {
  std::vector<ShownColumn> columns;
  for_each_field<R>([&]<class F>() {
    using T = typename F::Type;
    if (!is_shown<bare<T>>(audience)) return;
    ShownColumn column{.name = F::name, .is_computed = is_derived<bare<T>>};
    column.make = [](std::string_view name, ColumnOptions options) {
      return make_builder<T>(name, options);
    };
    if constexpr (std::same_as<R, Identity>) {
      column.is_derived = std::ranges::find(field_names<StoredIdentity>, F::name) ==
                          field_names<StoredIdentity>.end();
      column.append = [](Builder& builder, int, const Rows& rows) {
        append_field(builder, RecordFields<R>{*rows.identity}.template field<F, 0>(),
                     rows.audience);
      };
    } else if constexpr (store::storage_class<bare<T>>() == StorageClass::symbol) {
      column.is_shared = true;
      column.append = [](Builder& builder, int index, const Rows& rows) {
        for (std::size_t row = 0; row < rows.count; ++row) {
          const store::ColumnValue<T> field{rows.query, rows.symbols, index, row};
          if (field.is_unset()) {
            builder.append_null();
          } else {
            rows.query.locate(index, row, [&] {
              const std::int64_t key = store::require_integer(field.value);
              builder.append_shared_text(key, [&] { return checked(rows.symbols.text(key)); });
            });
          }
        }
      };
    } else {
      column.append = [](Builder& builder, int index, const Rows& rows) {
        for (std::size_t row = 0; row < rows.count; ++row) {
          append_field(builder, store::ColumnValue<T>{rows.query, rows.symbols, index, row},
                       rows.audience);
        }
      };
    }
    columns.push_back(column);
  });
  return columns;
}

// Returns the columns with these names, in their order; all columns if `names` is nullopt.
std::vector<ShownColumn> choose(std::vector<ShownColumn> known,
                                const std::optional<std::vector<std::string>>& names) {
  if (!names) return known;
  if (names->empty()) throw Error::invalid("columns", "must name at least one column");
  std::vector<ShownColumn> chosen;
  for (const std::string& name : *names) {
    const auto found = std::ranges::find(known, name, &ShownColumn::name);
    if (found == known.end()) {
      std::vector<std::string_view> all;
      std::ranges::transform(known, std::back_inserter(all), &ShownColumn::name);
      throw Error::invalid("columns", shorten(name) + " " + unknown_name_message(name, all));
    }
    if (std::ranges::find(chosen, name, &ShownColumn::name) != chosen.end()) {
      throw Error::invalid("columns", name + " appears more than once");
    }
    chosen.push_back(*found);
  }
  return chosen;
}

}  // namespace

Layout::Layout(std::string_view kind, const std::optional<std::vector<std::string>>& names,
               Audience audience)
    : audience_(audience) {
  store::visit_table(kind, [&]<Record R>() {
    using Shown = std::conditional_t<std::same_as<R, StoredIdentity>, Identity, R>;
    columns_ = choose(columns_of<Shown>(audience), names);
    is_derived_ = std::ranges::any_of(columns_, &ShownColumn::is_derived);
    // If no column is derived, only the requested columns are read.
    if (!is_derived_) columns_ = choose(columns_of<R>(audience), names);
  });
}

void Layout::select(store::Listing& listing) const {
  if (is_derived_) {
    listing.select(store::select_list<StoredIdentity>() + ", key");
    return;
  }
  std::string list;
  for (const ShownColumn& column : columns_) {
    if (!list.empty()) list += ", ";
    // The only computed column is the balance of a reward address; some listings do not show it.
    const auto balance = listing.has_bound_column() ? store::balance_as_of : "NULL AS balance";
    list += column.is_computed ? balance : column.name;
  }
  listing.select(std::move(list));
}

Codes Layout::make_codes(const std::vector<std::string>& names) const {
  Codes codes;
  for (const ShownColumn& column : columns_) {
    if (column.is_shared && std::ranges::find(names, column.name) != names.end()) {
      codes.emplace(column.name, std::make_shared<TextCodes>());
    }
  }
  return codes;
}

Builder Layout::make_batch(Representation representation, const Codes& codes) const {
  std::vector<Builder> members;
  members.reserve(columns_.size());
  for (const ShownColumn& column : columns_) {
    if (const auto found = codes.find(column.name); found != codes.end()) {
      members.emplace_back(Column{.name = found->first,
                                  .format = "i",
                                  .layout = BufferLayout::number,
                                  .is_nullable = true,
                                  .width = sizeof(std::int32_t),
                                  .codes = found->second});
    } else {
      members.push_back(column.make(column.name, {audience_, representation}));
    }
  }
  return Builder({.name = "", .format = "+s", .layout = BufferLayout::record}, std::move(members));
}

void Layout::append_rows(Builder& batch, const Rows& rows) const {
  int index = 0;
  for (Builder& column : batch.children()) {
    columns_[static_cast<std::size_t>(index)].append(column, index, rows);
    ++index;
  }
  for (std::size_t row = 0; row < rows.count; ++row) batch.end_record();
}

std::int64_t Layout::append(Builder& batch, db::Query& query, db::Connection& connection,
                            std::int64_t max_rows) const {
  if (is_derived_) return append_identities(batch, query, connection, max_rows);
  Rows rows{query, 0, connection.symbols(), nullptr, audience_};
  std::int64_t count = 0;
  do {
    rows.count = query.step_rows(static_cast<std::size_t>(max_rows - count));
    append_rows(batch, rows);
    count += static_cast<std::int64_t>(rows.count);
  } while (rows.count > 0 && count < max_rows);
  return count;
}

std::int64_t Layout::append_identities(Builder& batch, db::Query& query, db::Connection& connection,
                                       std::int64_t max_rows) const {
  constexpr int key_column = static_cast<int>(field_count<StoredIdentity>);
  // The controls are read after the rows, because only one query of pages is in use at a time.
  std::vector<StoredIdentity> identities;
  std::vector<std::int64_t> keys;
  while (std::cmp_less(keys.size(), max_rows) && query.step()) {
    keys.push_back(query.number(key_column));
    identities.push_back(store::read_row<StoredIdentity>(query, connection.symbols()));
  }
  auto controls = store::active_controls(connection, keys);
  for (std::size_t index = 0; index < keys.size(); ++index) {
    const Identity identity = rules::show_identity(identities[index], std::move(controls[index]));
    append_rows(batch, {query, 1, connection.symbols(), &identity, audience_});
  }
  return static_cast<std::int64_t>(keys.size());
}

}  // namespace comptroller::arrow
