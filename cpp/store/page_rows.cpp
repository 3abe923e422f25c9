#include "store/page_rows.hpp"

#include <utility>

namespace comptroller::store {

bool PageRows::step() {
  if (std::exchange(has_ended_, true)) return false;  // a statement after its end begins again
  for (; visits_left_ > 0; --visits_left_) {
    const std::optional<Candidate> candidate = candidates_();
    if (!candidate) return false;
    if (candidate->matches && rows_left_ == 0) break;  // the first row of the next page
    position_ = candidate->position;
    if (!candidate->matches) continue;
    if (!row_.bind(key_, position_.key).step()) {
      throw Error::damaged("an index has a row that its table lacks");
    }
    --rows_left_;
    --visits_left_;
    has_ended_ = false;
    return true;
  }
  next_page_ = position_;
  return false;
}

}  // namespace comptroller::store
