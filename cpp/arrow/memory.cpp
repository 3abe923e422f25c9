#include "arrow/memory.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <new>

namespace comptroller::arrow {

namespace {

constexpr std::size_t least_capacity = 1024;

alignas(buffer_alignment) constexpr std::array<char, buffer_alignment> nothing{};

constexpr std::size_t rounded_up(std::size_t size) {
  return (size + buffer_alignment - 1) / buffer_alignment * buffer_alignment;
}

// Owned by the private_data of a structure. A child that a consumer moved out has no release
// callback here and is not released.
template <class Parts, class Raw>
struct Shared {
  explicit Shared(Parts its_parts) : parts(std::move(its_parts)) {
    for (Owned<Raw>& child : parts.children) children.push_back(child.get());
  }
  static void release(Raw* raw) {
    delete static_cast<Shared*>(raw->private_data);
    raw->release = nullptr;
  }

  Parts parts;
  std::vector<Raw*> children;
  std::vector<const void*> addresses;
};

using SharedArray = Shared<ArrayParts, ArrowArray>;
using SharedSchema = Shared<SchemaParts, ArrowSchema>;

}  // namespace

const void* Buffer::address() const {
  return data_ != nullptr ? data_ : nothing.data();
}

Buffer Buffer::take() {
  expected_ = size_ + size_ / 16;
  return std::move(*this);
}

void Buffer::grow(std::size_t count) {
  const std::size_t wanted =
      rounded_up(std::max({size_ + count, 2 * capacity_, expected_, least_capacity}));
  auto* grown = static_cast<char*>(std::aligned_alloc(buffer_alignment, wanted));
  if (grown == nullptr) throw std::bad_alloc();
  if (size_ > 0) std::memcpy(grown, data_, size_);
  std::free(data_);
  data_ = grown;
  capacity_ = wanted;
}

Array make_array(ArrayParts parts) {
  auto shared = std::make_unique<SharedArray>(std::move(parts));
  for (const Buffer& buffer : shared->parts.buffers) shared->addresses.push_back(buffer.address());
  if (shared->parts.null_count == 0) shared->addresses.front() = nullptr;
  ArrowArray raw{};
  raw.length = shared->parts.length;
  raw.null_count = shared->parts.null_count;
  raw.n_buffers = static_cast<std::int64_t>(shared->addresses.size());
  raw.n_children = static_cast<std::int64_t>(shared->children.size());
  raw.buffers = shared->addresses.data();
  raw.children = shared->children.data();
  raw.dictionary = shared->parts.dictionary.get();
  raw.release = SharedArray::release;
  raw.private_data = shared.release();
  return Array(raw);
}

Schema make_schema(SchemaParts parts) {
  auto shared = std::make_unique<SharedSchema>(std::move(parts));
  ArrowSchema raw{};
  raw.format = shared->parts.format.c_str();
  raw.name = shared->parts.name.c_str();
  raw.flags = shared->parts.is_nullable ? ARROW_FLAG_NULLABLE : 0;
  raw.n_children = static_cast<std::int64_t>(shared->children.size());
  raw.children = shared->children.data();
  raw.dictionary = shared->parts.dictionary.get();
  raw.release = SharedSchema::release;
  raw.private_data = shared.release();
  return Schema(raw);
}

}  // namespace comptroller::arrow
