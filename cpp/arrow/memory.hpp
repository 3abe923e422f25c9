// The memory of Arrow structures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "arrow/abi.hpp"

namespace comptroller::arrow {

// A growing array of bytes, aligned as Arrow recommends. It remembers its last size, so that the
// buffer of the next batch, which is usually as large, is allocated once.
class Buffer {
 public:
  Buffer() = default;
  ~Buffer() { std::free(data_); }
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)),
        expected_(other.expected_) {}
  Buffer& operator=(Buffer&&) = delete;

  // Extends the array by `count` bytes and returns them; the caller must write them.
  char* extend(std::size_t count) {
    if (capacity_ - size_ < count) grow(count);
    char* const at = data_ + size_;
    size_ += count;
    return at;
  }
  template <class T>
  void push(const T& value) {
    std::memcpy(extend(sizeof value), &value, sizeof value);
  }
  // Sets bit `index` of a bitmap, lowest bit first. `index` is at most one after the last bit. It
  // is not inline, so that the code of columns without nulls stays short.
  void push_bit(std::int64_t index, bool bit);

  std::size_t size() const { return size_; }
  // Returns null if no byte was ever added.
  const char* data() const { return data_; }
  // Moves the bytes out, and leaves the buffer empty.
  Buffer take() {
    expected_ = size_ + size_ / 16;
    return std::move(*this);
  }

 private:
  void grow(std::size_t count);

  char* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  std::size_t expected_ = 0;
};

// Owns an Arrow structure. It is released at the end of the scope unless it was moved to a caller.
template <class Raw>
class Owned {
 public:
  Owned() = default;
  explicit Owned(const Raw& raw) : raw_(raw) {}
  ~Owned() {
    if (raw_.release != nullptr) raw_.release(&raw_);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  Owned(Owned&& other) noexcept : raw_(std::exchange(other.raw_, Raw{})) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }

  // Returns null if it is empty.
  Raw* get() { return raw_.release == nullptr ? nullptr : &raw_; }
  void give(Raw* out) { *out = std::exchange(raw_, Raw{}); }

 private:
  Raw raw_{};
};

using Array = Owned<ArrowArray>;
using Schema = Owned<ArrowSchema>;

}  // namespace comptroller::arrow
