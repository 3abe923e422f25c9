// The columns of a stream, and the conversion of rows of the store to batches.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arrow/columns.hpp"
#include "arrow/table.hpp"
#include "store/listing.hpp"

namespace comptroller {
struct Identity;
}

namespace comptroller::arrow {

// The source of the values of a column: the rows of the last step of a query, or an identity if a
// column is derived.
struct Rows {
  db::Query& query;
  std::size_t count;  // 1 for an identity
  db::Symbols& symbols;
  const Identity* identity;
  Audience audience;
};

struct ShownColumn {
  std::string_view name;
  bool is_shared = false;    // has texts that rows share
  bool is_computed = false;  // an expression instead of a column of the table
  bool is_derived = false;   // computed from the active controls of an identity
  Builder (*make)(std::string_view name, ColumnOptions options) = nullptr;
  void (*append)(Builder& builder, int index, const Rows& rows) = nullptr;
};

// The requested columns of a table; throws the errors of make_table. Immutable.
class Layout {
 public:
  Layout(std::string_view kind, const std::optional<std::vector<std::string>>& names,
         Audience audience);

  // Sets the select list of a listing to the columns that `append` expects.
  void select(store::Listing& listing) const;
  // Returns new codes for the columns of repeated texts among `names`.
  Codes make_codes(const std::vector<std::string>& names) const;
  // Returns a builder of a struct with one member per column. A column that is in `codes` has these
  // codes as int32.
  Builder make_batch(Representation representation, const Codes& codes) const;
  // Appends at most `max_rows` rows of a statement of such a listing; returns the number of rows.
  std::int64_t append(Builder& batch, db::Query& query, db::Connection& connection,
                      std::int64_t max_rows) const;

 private:
  void append_rows(Builder& batch, const Rows& rows) const;
  std::int64_t append_identities(Builder& batch, db::Query& query, db::Connection& connection,
                                 std::int64_t max_rows) const;

  std::vector<ShownColumn> columns_;
  Audience audience_;
  bool is_derived_ = false;  // rows have the columns of StoredIdentity and the key
};

}  // namespace comptroller::arrow
