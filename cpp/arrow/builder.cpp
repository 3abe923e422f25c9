#include "arrow/builder.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <new>

namespace comptroller::arrow {

namespace {

constexpr std::size_t buffer_alignment = 64;
constexpr std::size_t min_capacity = 1024;
constexpr std::size_t moderate_capacity = std::size_t{64} << 10U;
constexpr std::size_t large_capacity = std::size_t{1} << 20U;

alignas(buffer_alignment) constexpr std::array<char, buffer_alignment> nothing{};

// The memory that the pointers of a structure refer to, owned by its private_data. A child that a
// consumer moved out has no release callback and is not released.
template <class Raw>
struct Node {
  std::vector<Owned<Raw>> children;
  Owned<Raw> dictionary;
  std::vector<Raw*> child_addresses;
};
struct ArrayNode : Node<ArrowArray> {
  std::vector<Buffer> buffers;
  std::vector<const void*> addresses;
};
struct SchemaNode : Node<ArrowSchema> {
  std::string name;
  std::string format;
};

// The metadata of an extension type: the number of pairs, then the size and the text of each key
// and value.
constexpr std::string_view uuid_metadata(
    "\1\0\0\0\x14\0\0\0ARROW:extension:name\x0A\0\0\0arrow.uuid", 42);

// Sets the members that arrays and schemas have in common.
template <class Raw, class RawNode>
Owned<Raw> assemble(Raw raw, std::unique_ptr<RawNode> node) {
  for (Owned<Raw>& child : node->children) node->child_addresses.push_back(child.get());
  raw.n_children = static_cast<std::int64_t>(node->children.size());
  raw.children = node->child_addresses.data();
  raw.dictionary = node->dictionary.get();
  raw.release = [](Raw* self) {
    delete static_cast<RawNode*>(self->private_data);
    self->release = nullptr;
  };
  raw.private_data = node.release();
  return Owned<Raw>(raw);
}

Builder text_builder() {
  return Builder({.name = "", .format = "u", .layout = BufferLayout::text});
}

}  // namespace

// The system provides a page of a large array when it is first written, so an array of moderate
// size may grow by a large factor: fewer pages are written before they are copied.
void Buffer::grow(std::size_t count) {
  const std::size_t factor = capacity_ >= moderate_capacity && capacity_ < large_capacity ? 8 : 2;
  const std::size_t wanted = std::max({size_ + count, factor * capacity_, expected_, min_capacity});
  const std::size_t rounded = (wanted + buffer_alignment - 1) / buffer_alignment * buffer_alignment;
  auto* grown = static_cast<char*>(std::aligned_alloc(buffer_alignment, rounded));
  if (grown == nullptr) throw std::bad_alloc();
  if (size_ > 0) std::memcpy(grown, data_, size_);
  std::free(data_);
  data_ = grown;
  capacity_ = rounded;
}

void Buffer::push_bit(std::int64_t index, bool bit) {
  const auto place = static_cast<unsigned>(index) % 8;
  if (place == 0) push('\0');
  data_[size_ - 1] = static_cast<char>(data_[size_ - 1] | (static_cast<int>(bit) << place));
}

void Builder::append_text_of_row(std::int64_t row) {
  const auto index = static_cast<std::size_t>(row);
  if (column_.layout == BufferLayout::uuid) {
    char* const at = values_.extend(packed_uuid_length);  // may move the buffer
    std::memcpy(at, values_.data() + index * packed_uuid_length, packed_uuid_length);
  } else {
    std::array<std::int32_t, 2> ends{};
    std::memcpy(ends.data(), places_.data() + index * sizeof ends[0], sizeof ends);
    const auto size = static_cast<std::size_t>(ends[1] - ends[0]);
    char* const at = values_.extend(size);
    std::memcpy(at, values_.data() + ends[0], size);
    push_end(values_.size());
  }
  append_valid();
}

void Builder::append_null() {
  switch (column_.layout) {
    case BufferLayout::number:
    case BufferLayout::uuid:
      std::fill_n(values_.extend(column_.width), column_.width, '\0');
      break;
    case BufferLayout::boolean:
      values_.push_bit(length_, false);
      break;
    case BufferLayout::text:
      push_end(values_.size());
      break;
    case BufferLayout::view:
      append_empty_view();
      break;
    case BufferLayout::list:
      push_end(static_cast<std::size_t>(elements().length_));
      break;
    case BufferLayout::record:
      for (Builder& member : children_) member.append_null();
      break;
  }
  if (null_count_++ == 0) {
    for (std::int64_t index = 0; index < length_; ++index) validity_.push_bit(index, true);
  }
  validity_.push_bit(length_++, false);
}

std::size_t Builder::size() const {
  std::size_t size = values_.size() + places_.size();
  for (const Builder& child : children_) size += child.size();
  return size;
}

Array Builder::take() {
  auto node = std::make_unique<ArrayNode>();
  std::vector<Buffer>& buffers = node->buffers;
  buffers.push_back(validity_.take());
  const bool is_view = column_.layout == BufferLayout::view;
  if (has_ends() || is_view) buffers.push_back(places_.take());
  Buffer sizes;  // sizes of the text buffers; the last buffer
  if (is_view) sizes.push(static_cast<std::int64_t>(values_.size()));
  if (column_.layout != BufferLayout::list && column_.layout != BufferLayout::record) {
    buffers.push_back(values_.take());
  }
  if (is_view) buffers.push_back(std::move(sizes));
  for (const Buffer& buffer : buffers) {
    // Some readers do not accept a null address for an empty buffer.
    node->addresses.push_back(buffer.data() == nullptr ? nothing.data() : buffer.data());
  }
  // The validity bitmap may be absent if there are no nulls.
  if (null_count_ == 0) node->addresses.front() = nullptr;
  for (Builder& child : children_) node->children.push_back(child.take());
  if (!column_.dictionary.empty()) {
    Builder texts = text_builder();
    for (const std::string_view text : column_.dictionary) texts.append_text(text);
    node->dictionary = texts.take();
  }
  ArrowArray raw{};
  if (!column_.codes) rows_of_shared_.clear();
  shared_views_.clear();
  recent_texts_.clear();
  raw.length = std::exchange(length_, 0);
  raw.null_count = std::exchange(null_count_, 0);
  raw.n_buffers = static_cast<std::int64_t>(buffers.size());
  raw.buffers = node->addresses.data();
  begin();
  return assemble(raw, std::move(node));
}

Schema Builder::describe() const {
  auto node = std::make_unique<SchemaNode>();
  node->name = column_.name;
  node->format = column_.format;
  for (const Builder& child : children_) node->children.push_back(child.describe());
  if (!column_.dictionary.empty()) node->dictionary = text_builder().describe();
  ArrowSchema raw{};
  raw.format = node->format.c_str();
  raw.name = node->name.c_str();
  if (column_.layout == BufferLayout::uuid) raw.metadata = uuid_metadata.data();
  raw.flags = column_.is_nullable ? ARROW_FLAG_NULLABLE : 0;
  return assemble(raw, std::move(node));
}

}  // namespace comptroller::arrow
