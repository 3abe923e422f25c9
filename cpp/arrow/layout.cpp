#include "arrow/layout.hpp"

#include <algorithm>

#include "arrow/columns.hpp"
#include "model/nearest.hpp"
#include "rules/controls.hpp"
#include "store/identities.hpp"
#include "store/reward_addresses.hpp"

namespace comptroller::arrow {

namespace {

// A field as a column that is filled by `Append`.
template <class Append>
struct KnownColumn {
  std::string_view name;
  bool is_stored;
  Builder (*make)(std::string_view name, Audience audience);
  Append append;
};

using FromRow = void (*)(Builder&, const db::Value&, SymbolTexts&);
using FromIdentity = void (*)(Builder&, const Identity&, Audience);

template <class F>
Builder make_column(std::string_view name, Audience audience) {
  return make_builder<typename F::Type>(name, audience);
}

template <Record R>
std::vector<KnownColumn<FromRow>> columns_of_rows(Audience audience) {
  std::vector<KnownColumn<FromRow>> columns;
  for_each_field<R>([&]<class F>() {
    if (!json::is_shown<typename F::Type>(audience)) return;
    columns.push_back({F::name, store::storage_of<F> != store::StorageClass::computed,
                       make_column<F>, append_stored<bare<typename F::Type>>});
  });
  return columns;
}

std::vector<KnownColumn<FromIdentity>> columns_of_identities(Audience audience) {
  std::vector<KnownColumn<FromIdentity>> columns;
  for_each_field<Identity>([&]<class F>() {
    if (!json::is_shown<typename F::Type>(audience)) return;
    const bool is_stored = std::ranges::find(field_names<StoredIdentity>, F::name) !=
                           field_names<StoredIdentity>.end();
    columns.push_back({F::name, is_stored, make_column<F>,
                       [](Builder& builder, const Identity& identity, Audience whose) {
                         append_value(builder, identity.*F::member, whose);
                       }});
  });
  return columns;
}

// The columns of these names, in their order; all without names.
template <class Known>
std::vector<Known> choose(std::vector<Known> known,
                          const std::optional<std::vector<std::string>>& names) {
  if (!names) return known;
  if (names->empty()) throw Error::invalid("columns", "must name at least one column");
  std::vector<Known> chosen;
  for (const std::string& name : *names) {
    const auto found = std::ranges::find(known, name, &Known::name);
    if (found == known.end()) {
      std::vector<std::string_view> all;
      for (const Known& column : known) all.push_back(column.name);
      throw Error::invalid("columns", name + " " + unknown_name_message(name, all));
    }
    if (std::ranges::find(chosen, name, &Known::name) != chosen.end()) {
      throw Error::invalid("columns", name + " is there twice");
    }
    chosen.push_back(*found);
  }
  return chosen;
}

template <class Append>
class ChosenColumns : public Layout {
 public:
  ChosenColumns(std::string_view table, std::vector<KnownColumn<Append>> columns, Audience audience)
      : table_(table), columns_(std::move(columns)), audience_(audience) {}

  std::string_view table() const override { return table_; }
  std::vector<std::string> column_names() const override {
    std::vector<std::string> names;
    for (const auto& column : columns_) names.emplace_back(column.name);
    return names;
  }
  Builder make_batch() const override {
    std::vector<Builder> members;
    for (const auto& column : columns_) members.push_back(column.make(column.name, audience_));
    return Builder({.name = "", .format = "+s", .shape = Shape::record}, std::move(members));
  }

 protected:
  const std::vector<KnownColumn<Append>>& columns() const { return columns_; }
  Audience audience() const { return audience_; }

 private:
  std::string_view table_;
  std::vector<KnownColumn<Append>> columns_;
  Audience audience_;
};

// Records that are shown as their rows have them.
class RecordLayout final : public ChosenColumns<FromRow> {
 public:
  using ChosenColumns::ChosenColumns;

  void select(store::Listing& listing) const override {
    std::string list;
    for (const auto& column : columns()) {
      if (!list.empty()) list += ", ";
      if (!column.is_stored) list.append(store::balance_as_of).append(" AS ");
      list += column.name;
    }
    listing.select(std::move(list), columns().size());
  }
  std::unique_ptr<Rows> make_rows(db::Connection& connection) const override {
    std::vector<FromRow> appends;
    for (const auto& column : columns()) appends.push_back(column.append);
    return std::make_unique<RecordRows>(make_batch(), std::move(appends), connection);
  }

 private:
  class RecordRows final : public Rows {
   public:
    RecordRows(Builder batch, std::vector<FromRow> appends, db::Connection& connection)
        : Rows(std::move(batch)), appends_(std::move(appends)), symbols_(connection.symbols()) {}

    void append(db::Query& row) override {
      Builder* column = batch().children().data();
      for (std::size_t index = 0; index < appends_.size(); ++index) {
        appends_[index](column[index], row.column(static_cast<int>(index)), symbols_);
      }
      batch().end_record();
    }

   private:
    std::vector<FromRow> appends_;
    SymbolTexts symbols_;
  };
};

// Identities with what follows from their active controls.
class IdentityLayout final : public ChosenColumns<FromIdentity> {
 public:
  using ChosenColumns::ChosenColumns;

  void select(store::Listing& listing) const override {
    listing.select(store::select_list<StoredIdentity>() + ", key",
                   StoredIdentity::fields::count + 1);
  }
  std::unique_ptr<Rows> make_rows(db::Connection& connection) const override {
    return std::make_unique<IdentityRows>(*this, connection);
  }

 private:
  class IdentityRows final : public Rows {
   public:
    IdentityRows(const IdentityLayout& layout, db::Connection& connection)
        : Rows(layout.make_batch()), layout_(layout), connection_(connection) {}

    void append(db::Query& row) override {
      constexpr int key_column = static_cast<int>(StoredIdentity::fields::count);
      const Identity identity =
          rules::show_identity(store::read_row<StoredIdentity>(row, connection_.symbols()),
                               store::active_controls(connection_, row.column(key_column).integer));
      for (std::size_t index = 0; index < layout_.columns().size(); ++index) {
        layout_.columns()[index].append(batch().child(index), identity, layout_.audience());
      }
      batch().end_record();
    }

   private:
    const IdentityLayout& layout_;
    db::Connection& connection_;
  };
};

}  // namespace

std::unique_ptr<const Layout> make_layout(std::string_view kind,
                                          const std::optional<std::vector<std::string>>& columns,
                                          Audience audience) {
  const auto of = [&]<Record R>(std::type_identity<R>) {
    return std::make_unique<RecordLayout>(store::Table<R>::name,
                                          choose(columns_of_rows<R>(audience), columns), audience);
  };
  if (kind == "claims") return of(std::type_identity<Claim>{});
  if (kind == "orchestrations") return of(std::type_identity<Orchestration>{});
  if (kind == "reward_addresses") return of(std::type_identity<RewardAddress>{});
  if (kind == "payout_groups") return of(std::type_identity<PayoutGroup>{});
  if (kind == "controls") return of(std::type_identity<Control>{});
  if (kind == "balances") return of(std::type_identity<Balance>{});
  if (kind != "identities") throw Error::invalid("kind", "must be a kind of records");

  auto chosen = choose(columns_of_identities(audience), columns);
  if (std::ranges::all_of(chosen, [](const auto& column) { return column.is_stored; })) {
    return of(std::type_identity<StoredIdentity>{});
  }
  return std::make_unique<IdentityLayout>(store::Table<StoredIdentity>::name, std::move(chosen),
                                          audience);
}

}  // namespace comptroller::arrow
