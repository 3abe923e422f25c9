#include "store/page_rows.hpp"

namespace comptroller::store {

bool PageRows::step() {
  if (!merge_) return query_ && query_->step();
  while (rows_left_ > 0) {
    const std::optional<Position> position = merge_->next();
    if (!position) return false;
    query_.reset();
    row_by_key_.sql.values[row_by_key_.key] = Value::of(position->key);
    query_.emplace(row_by_key_.sql.query(*connection_));
    if (!query_->step()) continue;
    --rows_left_;
    return true;
  }
  return false;
}

}  // namespace comptroller::store
