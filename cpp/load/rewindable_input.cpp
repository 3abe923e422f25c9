#include "load/rewindable_input.hpp"

#include <algorithm>

#include "model/scalar.hpp"

namespace comptroller::load {

namespace {

constexpr std::size_t max_bytes_in_memory = std::size_t{8} << 20U;

}  // namespace

std::size_t RewindableInput::read(char* out, std::size_t capacity) {
  const std::size_t count = !is_read_from_kept() ? input_.read(out, capacity)
                            : file_              ? file_->read(at_, out, capacity)
                                                 : first_.copy(out, capacity, at_);
  if (keeps_ && !is_rewound_) keep({out, count});
  if (has_digest_) hash_.update({out, count});
  at_ += count;
  bytes_read_ = std::max<std::uint64_t>(bytes_read_, at_);
  if (count == 0) is_at_end_ = true;
  return count;
}

void RewindableInput::keep(std::string_view bytes) {
  if (!file_ && first_.size() + bytes.size() > max_bytes_in_memory) {
    file_.emplace(folder_);
    file_->append(first_);
    std::string().swap(first_);  // an assignment would keep the memory
  }
  file_ ? file_->append(bytes) : static_cast<void>(first_.append(bytes));
}

std::string RewindableInput::sha256() {
  const journal::Hash hash = hash_.finish();
  return text_of(HexadecimalDigits{journal::bytes_of(hash)});
}

void RewindableInput::rewind() {
  hash_.finish();
  at_ = 0;
  is_rewound_ = true;
  if (!keeps_) input_.rewind();
}

}  // namespace comptroller::load
