#include "store/page_rows.hpp"

#include <algorithm>

#include "model/error.hpp"

namespace comptroller::store {

namespace {

// Keys that are looked up at once where filters may pass over rows.
constexpr std::size_t first_chunk = 128;
constexpr std::size_t largest_chunk = 4096;

}  // namespace

PageRows::PageRows(db::Connection& connection, std::unique_ptr<Merge> merge, RowsByKey rows,
                   std::int64_t most_rows)
    : merge_(std::move(merge)),
      connection_(&connection),
      rows_(std::move(rows)),
      rows_left_(most_rows),
      chunk_size_(rows_.may_pass_over ? first_chunk : static_cast<std::size_t>(most_rows)) {}

bool PageRows::step() {
  if (!merge_) return query_ && query_->step();
  while (rows_left_ > 0) {
    if (query_ && query_->step()) {
      --rows_left_;
      check_order(query_->column(rows_.key_column).integer);
      return true;
    }
    if (!read_chunk()) return false;
  }
  return false;
}

// The rows come in the order in which their keys were given; nothing in SQL promises that.
void PageRows::check_order(std::int64_t key) {
  while (next_key_ < keys_.size() && keys_[next_key_] != key) ++next_key_;
  if (next_key_++ == keys_.size())
    throw Error(Code::internal, "the rows of a page are out of order");
}

bool PageRows::read_chunk() {
  query_.reset();
  keys_.clear();
  next_key_ = 0;
  while (keys_.size() < chunk_size_) {
    const std::optional<Position> position = merge_->next();
    if (!position) break;
    keys_.push_back(position->key);
  }
  if (keys_.empty()) return false;
  chunk_size_ = std::min(2 * chunk_size_, largest_chunk);
  keys_text_ = json_array(keys_);
  rows_.sql.values[rows_.keys] = Value::of(std::string_view(keys_text_));
  query_.emplace(rows_.sql.query(*connection_));
  return true;
}

}  // namespace comptroller::store
