#include "db/sqlite/table_filler.hpp"

#include <algorithm>
#include <string>
#include <system_error>

#include "model/error.hpp"

namespace comptroller::db::sqlite {

namespace {

// Takes the parameters of an INSERT as the values of a row.
class Row final : public Statement {
 public:
  // `places` are the positions of the parameters' columns in the table.
  Row(std::vector<sqlite_format::Value>& row, const std::vector<std::size_t>& places)
      : row_(row), places_(places) {}

  using Statement::bind;
  void bind(int index, const Value& value) override {
    row_[places_[static_cast<std::size_t>(index) - 1]] = {
        static_cast<sqlite_format::Value::Type>(value.kind), value.integer, value.bytes};
  }

 private:
  std::vector<sqlite_format::Value>& row_;
  const std::vector<std::size_t>& places_;
};

}  // namespace

std::vector<Insertion> TableFiller::insert(const InsertStatement& statement, std::size_t rows,
                                           const Connection::BindRow& bind) {
  std::vector<std::size_t> places;
  for (const std::string_view name : statement.columns) {
    const auto column = builder_->find(name);
    if (!column) throw Error(Code::internal, "a filled table lacks a column");
    places.push_back(*column);
  }
  std::vector<sqlite_format::Value> row(builder_->columns());
  Row values(row, places);
  std::vector<Insertion> results(rows, Insertion::deferred);
  for (std::size_t i = 0; i < rows; ++i) {
    std::ranges::fill(row, sqlite_format::Value{});
    Query query(values);
    bind(query, i);
    if (builder_->add(row)) results[i] = Insertion::inserted;
  }
  return results;
}

}  // namespace comptroller::db::sqlite
