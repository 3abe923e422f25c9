// The columns of a stream, and rows of the store as batches of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arrow/columns.hpp"
#include "store/listing.hpp"

namespace comptroller::arrow {

// Where a column finds its value.
struct Row {
  db::Query& query;
  db::Symbols& symbols;
  const Identity& identity;  // for a column that shows one
  Audience audience;
};

struct ShownColumn {
  std::string_view name;
  bool is_derived = false;  // from the active controls of an identity
  Builder (*make)(std::string_view name, Audience audience) = nullptr;
  void (*append)(Builder& builder, int index, const Row& row) = nullptr;
};

// What make_table was asked for; throws what that throws. Never changes.
class Layout {
 public:
  Layout(std::string_view kind, const std::optional<std::vector<std::string>>& names,
         Audience audience);

  std::string_view table() const { return table_; }
  const std::vector<ShownColumn>& columns() const { return columns_; }
  Audience audience() const { return audience_; }
  // Whether rows are those of StoredIdentity and the key, whatever the columns.
  bool is_derived() const { return is_derived_; }

  // Makes a listing give what Rows::append expects.
  void select(store::Listing& listing) const;
  // A struct with a member a column.
  Builder make_batch() const;

 private:
  std::string_view table_;
  std::vector<ShownColumn> columns_;
  Audience audience_;
  bool is_derived_ = false;
};

// Gathers the rows of a listing. For one thread, on one connection.
class Rows {
 public:
  Rows(const Layout& layout, db::Connection& connection)
      : layout_(layout), connection_(connection), batch_(layout.make_batch()) {}

  // Appends the row a statement stands on.
  void append(db::Query& query);
  Builder& batch() { return batch_; }

 private:
  const Layout& layout_;
  db::Connection& connection_;
  Identity identity_;
  Builder batch_;
};

}  // namespace comptroller::arrow
