#include "store/page_rows.hpp"

namespace comptroller::store {

bool PageRows::step() {
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
    if (!row_.bind(key_, position_.key).step()) {
      throw Error::damaged("an index has a row that its table lacks");
    }
    --rows_left_;
    --visits_left_;
    return true;
  }
  has_ended_ = true;  // the page is full, or has visited its maximum number of rows
  next_page_ = position_;
  return false;
}

}  // namespace comptroller::store
