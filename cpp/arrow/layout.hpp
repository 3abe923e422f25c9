// What a stream needs to know of the records it shows.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arrow/builder.hpp"
#include "json/writer.hpp"
#include "store/listing.hpp"

namespace comptroller::arrow {

// Rows of a listing as batches. For one thread, on one connection.
class Rows {
 public:
  explicit Rows(Builder batch) : batch_(std::move(batch)) {}
  virtual ~Rows() = default;

  // Appends the row a statement stands on.
  virtual void append(db::Query& row) = 0;

  // A struct with a member a column.
  Builder& batch() { return batch_; }

 private:
  Builder batch_;
};

// The columns that were chosen. Never changes.
class Layout {
 public:
  virtual ~Layout() = default;

  virtual std::string_view table() const = 0;
  virtual std::vector<std::string> column_names() const = 0;
  // Makes a listing give the columns that Rows::append expects.
  virtual void select(store::Listing& listing) const = 0;
  virtual Builder make_batch() const = 0;
  virtual std::unique_ptr<Rows> make_rows(db::Connection& connection) const = 0;
};

// The layout of what make_table was asked for; throws what that throws.
std::unique_ptr<const Layout> make_layout(std::string_view kind,
                                          const std::optional<std::vector<std::string>>& columns,
                                          json::Audience audience);

}  // namespace comptroller::arrow
