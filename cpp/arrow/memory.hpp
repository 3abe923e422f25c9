// What Arrow structures own: bytes, and each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "arrow/abi.hpp"

namespace comptroller::arrow {

inline constexpr std::size_t buffer_alignment = 64;

// Bytes that grow at their end, aligned as Arrow recommends. It remembers how much was taken from
// it: the next batch, which is about as large, is allocated once.
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

  // Room for `count` more bytes, to be written by the caller.
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
  // The bytes as bits, the lowest first: sets bit `index`, which is at most one behind the last.
  void push_bit(std::int64_t index, bool bit) {
    const auto place = static_cast<unsigned>(index) % 8;
    if (place == 0) push('\0');
    data_[size_ - 1] = static_cast<char>(data_[size_ - 1] | (static_cast<int>(bit) << place));
  }

  std::size_t size() const { return size_; }
  // Never null: not every reader expects that of an empty buffer.
  const void* address() const;
  // The bytes so far; this begins anew.
  Buffer take();

 private:
  void grow(std::size_t count);

  char* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  std::size_t expected_ = 0;
};

// An Arrow structure, released at the end of the scope unless it was given away.
template <class Raw>
class Owned {
 public:
  Owned() = default;
  explicit Owned(const Raw& raw) : raw_(raw) {}
  ~Owned() {
    if (raw_.release != nullptr) raw_.release(&raw_);
  }
  Owned(Owned&& other) noexcept : raw_(std::exchange(other.raw_, Raw{})) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }

  // Null when it is empty.
  Raw* get() { return raw_.release == nullptr ? nullptr : &raw_; }
  void give(Raw* out) { *out = std::exchange(raw_, Raw{}); }

 private:
  Raw raw_{};
};

using Array = Owned<ArrowArray>;
using Schema = Owned<ArrowSchema>;

// What an Arrow array is made of. All its buffers are there, but for a validity bitmap without
// nulls.
struct ArrayParts {
  std::int64_t length = 0;
  std::int64_t null_count = 0;
  std::vector<Buffer> buffers;
  std::vector<Array> children;
  Array dictionary;
};
Array make_array(ArrayParts parts);

struct SchemaParts {
  std::string name;
  std::string format;
  bool is_nullable = false;
  std::vector<Schema> children;
  Schema dictionary;
};
Schema make_schema(SchemaParts parts);

}  // namespace comptroller::arrow
