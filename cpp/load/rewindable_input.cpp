#include "load/rewindable_input.hpp"

namespace comptroller::load {

namespace {

constexpr std::size_t max_bytes_in_memory = std::size_t{8} << 20U;

}  // namespace

std::size_t RewindableInput::read(char* out, std::size_t capacity) {
  if (is_rewound_) {
    const std::size_t count =
        file_ ? file_->read(at_, out, capacity) : first_.copy(out, capacity, at_);
    at_ += count;
    return count;
  }
  const std::size_t count = input_.read(out, capacity);
  if (keeps_) keep({out, count});
  bytes_read_ += count;
  is_at_end_ = count == 0;
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

void RewindableInput::rewind() {
  at_ = 0;
  is_rewound_ = is_stream();
  if (is_rewound_) return;
  input_.rewind();
  bytes_read_ = 0;
  is_at_end_ = false;
}

}  // namespace comptroller::load
