#include "store/page_rows.hpp"

namespace comptroller::store {

namespace {

Position position_at(db::Query& row, int column) {
  return {row.column(column).integer, row.column(column + 1).integer};
}

}  // namespace

bool PageRows::step() {
  if (positions_.index() == 0) return row_ && row_->step();
  while (rows_left_ > 0) {
    const std::optional<Position> position = next_position();
    if (!position) return false;
    if (!find(position->key)) continue;
    position_ = *position;
    --rows_left_;
    return true;
  }
  return false;
}

Position PageRows::position() {
  return positions_.index() == 0 ? position_at(row(), row().column_count() - 2) : position_;
}

std::optional<Position> PageRows::stopped_at() const {
  const auto* const difference = std::get_if<Difference>(&positions_);
  return difference == nullptr ? std::nullopt : difference->stopped_at();
}

std::optional<Position> PageRows::next_position() {
  if (auto* const merge = std::get_if<Merge>(&positions_)) return merge->next();
  if (auto* const difference = std::get_if<Difference>(&positions_)) return difference->next();
  auto& query = std::get<db::Query>(positions_);
  return query.step() ? std::optional(position_at(query, 0)) : std::nullopt;
}

bool PageRows::find(std::int64_t key) {
  if (connection_ == nullptr) {
    if (row().bind(1, Value::of(key)).step()) return true;
    throw Error::damaged("an index has a row that its table lacks");
  }
  row_.reset();
  row_by_key_.values.back() = Value::of(key);
  row_.emplace(row_by_key_.query(*connection_));
  return row_->step();
}

}  // namespace comptroller::store
