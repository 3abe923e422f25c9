#include "store/page_rows.hpp"

namespace comptroller::store {

PageRows::PageRows(const PageQuery& page, Candidates candidates, const ReadRows& read)
    : candidates_(std::move(candidates)), rows_left_(page.limit), visits_left_(page.max_visited) {
  std::vector<Position> positions;
  while (visit_next()) positions.push_back(position_);
  if (!positions.empty()) row_.emplace(read(positions));
  positions_ = std::move(positions);
}

bool PageRows::step_whole() {
  if (has_ended_ || !row().step()) return false;
  if (rows_left_-- == 0) {
    has_ended_ = true;
    next_page_ = position_;
    return false;
  }
  position_ = {row().number(key_), row().number(key_ + 1)};
  return true;
}

bool PageRows::step() {
  if (is_whole_) return step_whole();
  if (positions_) {
    if (next_ == positions_->size()) return false;
    position_ = (*positions_)[next_++];
  } else if (visit_next()) {
    row().bind(key_, position_.key);
  } else {
    return false;
  }
  if (row().step()) return true;
  throw Error::damaged("an index has a row that its table lacks");
}

void PageRows::end() {
  has_ended_ = true;
  next_page_ = position_;
  if (positions_) next_ = positions_->size();
}

bool PageRows::visit_next() {
  if (has_ended_) return false;  // a statement after its end begins again
  for (; visits_left_ > 0; --visits_left_) {
    const std::optional<Candidate> candidate = candidates_();
    if (!candidate) {  // the last page
      has_ended_ = true;
      return false;
    }
    if (candidate->matches && rows_left_ == 0) break;  // the first row of the next page
    position_ = candidate->position;
    if (!candidate->matches) continue;
    --rows_left_;
    --visits_left_;
    return true;
  }
  has_ended_ = true;  // the page is full, or has visited its maximum number of rows
  next_page_ = position_;
  return false;
}

}  // namespace comptroller::store
