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
  const Identity* identity;  // for a column that shows one
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
  // The same columns with texts as views.
  Layout with_views() const;

  std::string_view table() const { return table_; }
  const std::vector<ShownColumn>& columns() const { return columns_; }

  // Makes a listing give what append expects.
  void select(store::Listing& listing) const;
  // A struct with a member a column.
  Builder make_batch() const;
  // Appends the next rows of a statement of such a listing, at most so many; gives how many.
  std::int64_t append(Builder& batch, db::Query& query, db::Connection& connection,
                      std::int64_t most_rows) const;

 private:
  void append_row(Builder& batch, const Row& row) const;
  std::int64_t append_identities(Builder& batch, db::Query& query, db::Connection& connection,
                                 std::int64_t most_rows) const;

  std::string_view table_;
  std::vector<ShownColumn> columns_;
  Audience audience_;
  bool has_views_ = false;
  bool is_derived_ = false;  // rows are of StoredIdentity and the key, whatever the columns
};

}  // namespace comptroller::arrow
