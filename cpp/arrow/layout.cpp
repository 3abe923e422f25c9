#include "arrow/layout.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "model/nearest.hpp"
#include "model/shorten.hpp"
#include "rules/controls.hpp"
#include "store/identities.hpp"
#include "store/reward_addresses.hpp"

namespace comptroller::arrow {

namespace {

template <Record R>
std::vector<ShownColumn> columns_of(Audience audience) {
  std::vector<ShownColumn> columns;
  for_each_field<R>([&]<class F>() {
    using T = typename F::Type;
    if (!json::is_shown<T>(audience)) return;
    ShownColumn column{.name = F::name};
    column.make = [](std::string_view name, Audience whose) {
      return make_builder<T>(name, whose);
    };
    if constexpr (std::same_as<R, Identity>) {
      column.is_derived = std::ranges::find(field_names<StoredIdentity>, F::name) ==
                          field_names<StoredIdentity>.end();
      column.append = [](Builder& builder, int, const Row& row) {
        append_value(builder, row.identity.*F::member, row.audience);
      };
    } else {
      column.append = [](Builder& builder, int index, const Row& row) {
        append_stored<bare<T>>(builder, row.query.column(index), row.symbols);
      };
    }
    columns.push_back(column);
  });
  return columns;
}

// The columns of these names, in their order; all without names.
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
      throw Error::invalid("columns", name + " is there twice");
    }
    chosen.push_back(*found);
  }
  return chosen;
}

struct Kind {
  std::string_view name;
  std::string_view table;
  std::vector<ShownColumn> (*columns)(Audience audience);
};

template <Record R, Record Kept = R>
constexpr Kind make_kind(std::string_view name) {
  return {name, store::Table<Kept>::name, columns_of<R>};
}

constexpr std::array<Kind, 7> kinds{
    make_kind<Claim>("claims"),
    make_kind<Orchestration>("orchestrations"),
    make_kind<RewardAddress>("reward_addresses"),
    make_kind<PayoutGroup>("payout_groups"),
    make_kind<Control>("controls"),
    make_kind<Identity, StoredIdentity>("identities"),
    make_kind<Balance>("balances"),
};

const Kind& find_kind(std::string_view name) {
  const auto* const found = std::ranges::find(kinds, name, &Kind::name);
  if (found != kinds.end()) return *found;
  throw Error::invalid("kind", std::string(name) + " is no kind of records");
}

}  // namespace

Layout::Layout(std::string_view kind, const std::optional<std::vector<std::string>>& names,
               Audience audience)
    : table_(find_kind(kind).table),
      columns_(choose(find_kind(kind).columns(audience), names)),
      audience_(audience),
      is_derived_(std::ranges::any_of(columns_, &ShownColumn::is_derived)) {
  // Without a derived column identities are shown as they are kept.
  if (kind == "identities" && !is_derived_) {
    columns_ = choose(columns_of<StoredIdentity>(audience), names);
  }
}

void Layout::select(store::Listing& listing) const {
  if (is_derived_) {
    listing.select(store::select_list<StoredIdentity>() + ", key",
                   StoredIdentity::fields::count + 1);
    return;
  }
  std::string list;
  for (const ShownColumn& column : columns_) {
    if (!list.empty()) list += ", ";
    // The one computed column of all kinds.
    const bool is_balance = table_ == store::Table<RewardAddress>::name && column.name == "balance";
    list += is_balance ? store::balance_as_of : column.name;
  }
  listing.select(std::move(list), columns_.size());
}

Builder Layout::make_batch() const {
  std::vector<Builder> members;
  members.reserve(columns_.size());
  for (const ShownColumn& column : columns_) members.push_back(column.make(column.name, audience_));
  return Builder({.name = "", .format = "+s", .shape = Shape::record}, std::move(members));
}

void Rows::append(db::Query& query) {
  if (layout_.is_derived()) {
    constexpr int key_column = static_cast<int>(StoredIdentity::fields::count);
    identity_ =
        rules::show_identity(store::read_row<StoredIdentity>(query, connection_.symbols()),
                             store::active_controls(connection_, query.column(key_column).integer));
  }
  const Row row{query, connection_.symbols(), identity_, layout_.audience()};
  int index = 0;
  for (Builder& column : batch_.children()) {
    layout_.columns()[static_cast<std::size_t>(index)].append(column, index, row);
    ++index;
  }
  batch_.end_record();
}

}  // namespace comptroller::arrow
