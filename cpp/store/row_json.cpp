#include "store/row_json.hpp"

namespace comptroller::store {

namespace {

constexpr std::size_t usual_growth = 2048;

}  // namespace

void Tail::grow(std::size_t most) {
  const auto used = static_cast<std::size_t>(at_ - out_.data());
  out_.resize(used + std::max(most, usual_growth));
  at_ = out_.data() + used;
  end_ = out_.data() + out_.size();
}

void put(Tail& out, const PackedAddresses& addresses) {
  out.put("[");
  for (std::size_t index = 0; index < addresses.count(); ++index) {
    if (index > 0) out.put(",");
    put(out, addresses[index]);
  }
  out.put("]");
}

}  // namespace comptroller::store
