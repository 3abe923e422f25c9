// Fills an empty table of a private database file by writing its b-trees.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "db/database.hpp"
#include "sqlite_format/sqlite_format.hpp"

namespace comptroller::db::sqlite {

// Passes the parameters of INSERTs to a Builder as rows. For one thread at a time.
class TableFiller {
 public:
  TableFiller(std::unique_ptr<sqlite_format::Builder> builder, std::string_view table)
      : builder_(std::move(builder)), table_(table) {}

  sqlite_format::Builder& builder() { return *builder_; }
  const std::string& table() const { return table_; }
  // See Connection::insert_new. Defers rows that the builder does not take.
  std::vector<Insertion> insert(const InsertStatement& statement, std::size_t rows,
                                const Connection::BindRow& bind);

 private:
  std::unique_ptr<sqlite_format::Builder> builder_;
  std::string table_;
};

}  // namespace comptroller::db::sqlite
