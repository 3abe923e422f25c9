// The columns of a stream, and how rows of the store become batches.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arrow/columns.hpp"
#include "store/listing.hpp"

namespace comptroller::arrow {

// Where a column gets its value.
struct Row {
  db::Query& query;
  db::Symbols& symbols;
  const Identity* identity;  // the source of all columns if one of them is derived
  Audience audience;
};

struct ShownColumn {
  std::string_view name;
  bool is_computed = false;  // an expression, not a column of the table
  bool is_derived = false;   // from the active controls of an identity
  Builder (*make)(std::string_view name, Audience audience) = nullptr;
  void (*append)(Builder& builder, int index, const Row& row) = nullptr;
};

// The columns that a table was requested with; throws what make_table throws. Immutable.
class Layout {
 public:
  Layout(std::string_view kind, const std::optional<std::vector<std::string>>& names,
         Audience audience);
  // The same columns with texts as views.
  Layout with_views() const;

  std::string_view table() const { return table_; }
  const std::vector<ShownColumn>& columns() const { return columns_; }

  // Sets the select list of a listing to what `append` expects.
  void select(store::Listing& listing) const;
  // A struct with one member per column.
  Builder make_batch() const;
  // Appends at most `most_rows` of the next rows of a statement of such a listing; returns how
  // many.
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
  bool is_derived_ = false;  // rows have the columns of StoredIdentity and the key
};

}  // namespace comptroller::arrow
