#include "load/bytes.hpp"

#include <utility>

namespace comptroller::load {

bool Bytes::refill() {
  if (out_ != nullptr) keep_passed();
  std::size_t size = 0;
  while (size < window_.size() && !is_at_end_) {
    const std::size_t count = input_.read(window_.data() + size, window_.size() - size);
    is_at_end_ = count == 0;
    size += count;
    bytes_read_.fetch_add(count, std::memory_order_relaxed);
  }
  rest_ = {window_.data(), size};
  kept_until_ = rest_.data();
  return size > 0;
}

void Bytes::keep(std::vector<char>& out, std::size_t most) {
  out_ = &out;
  most_ = most;
  begin_ = out.size();
  kept_until_ = rest_.data();
  is_too_long_ = false;
}

std::optional<std::string_view> Bytes::kept() {
  keep_passed();
  const std::vector<char>& out = *std::exchange(out_, nullptr);
  if (is_too_long_) return std::nullopt;
  return std::string_view(out.data() + begin_, out.size() - begin_);
}

void Bytes::keep_passed() {
  is_too_long_ |=
      out_->size() - begin_ + static_cast<std::size_t>(rest_.data() - kept_until_) > most_;
  if (is_too_long_) {
    out_->resize(begin_);
  } else {
    out_->insert(out_->end(), kept_until_, rest_.data());
  }
  kept_until_ = rest_.data();
}

}  // namespace comptroller::load
