// The rows of a page, and their JSON.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "store/columns.hpp"
#include "store/merge.hpp"
#include "store/sql.hpp"

namespace comptroller::store {

// A statement that gives rows by their keys: a JSON array, the value at `keys` of its values. The
// column at `key_column` is the key.
struct RowsByKey {
  Sql sql;
  std::size_t keys = 0;
  int key_column = 0;
  bool may_pass_over = false;  // whether it has conditions
};

// The rows of a page in order: the selected columns, then created_at and key. The listing and the
// connection must outlive them.
class PageRows {
 public:
  PageRows() = default;
  explicit PageRows(db::Query query) : query_(std::move(query)) {}
  // At most `most_rows` at the positions of a merge.
  PageRows(db::Connection& connection, std::unique_ptr<Merge> merge, RowsByKey rows,
           std::int64_t most_rows);

  bool step();
  // After a step that gave a row.
  db::Query& row() { return *query_; }  // NOLINT(bugprone-unchecked-optional-access)

 private:
  bool read_chunk();
  void check_order(std::int64_t key);

  std::optional<db::Query> query_;
  std::unique_ptr<Merge> merge_;  // what follows belongs to it
  db::Connection* connection_ = nullptr;
  RowsByKey rows_;
  std::int64_t rows_left_ = 0;
  std::size_t chunk_size_ = 0;
  std::vector<std::int64_t> keys_;  // of the chunk, in order
  std::size_t next_key_ = 0;
  std::string keys_text_;
};

// Appends `"items":[...]` of at most `limit` rows of R to `out`; gives the position of the last row
// if more follow. The rows must have been asked for limit + 1.
template <Record R>
std::optional<Position> append_items(std::string& out, PageRows& rows, db::Symbols& symbols,
                                     Audience audience, std::int64_t limit) {
  constexpr int columns = static_cast<int>(R::fields::count);
  Position last;
  json::JsonWriter writer(out, audience);
  writer.put("\"items\":[");
  for (std::int64_t count = 0; rows.step(); ++count) {
    if (count == limit) {
      writer.put("]");
      return last;
    }
    if (count > 0) writer.put(",");
    writer.write_record<R>(Row{rows.row(), symbols});
    if (count + 1 == limit) {
      last = {rows.row().column(columns).integer, rows.row().column(columns + 1).integer};
    }
  }
  writer.put("]");
  return std::nullopt;
}

}  // namespace comptroller::store
