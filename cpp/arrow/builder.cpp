#include "arrow/builder.hpp"

#include <algorithm>

namespace comptroller::arrow {

namespace {

Builder text_builder() {
  return Builder({.name = "", .format = "u", .layout = BufferLayout::text});
}

}  // namespace

void Builder::append_null() {
  switch (column_.layout) {
    case BufferLayout::number:
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

Builder Builder::with_views() && {
  Column column = std::move(column_);
  if (column.layout == BufferLayout::text) {
    column.layout = BufferLayout::view;
    column.format = "vu";
  }
  std::vector<Builder> children;
  children.reserve(children_.size());
  for (Builder& child : children_) children.push_back(std::move(child).with_views());
  return Builder(std::move(column), std::move(children));
}

std::size_t Builder::size() const {
  std::size_t size = values_.size() + places_.size();
  for (const Builder& child : children_) size += child.size();
  return size;
}

Array Builder::take() {
  ArrayParts parts;
  parts.length = std::exchange(length_, 0);
  parts.null_count = std::exchange(null_count_, 0);
  parts.buffers.push_back(validity_.take());
  const bool is_view = column_.layout == BufferLayout::view;
  if (has_ends() || is_view) parts.buffers.push_back(places_.take());
  Buffer sizes;  // of the buffers of texts; comes after them
  if (is_view) sizes.push(static_cast<std::int64_t>(values_.size()));
  if (column_.layout != BufferLayout::list && column_.layout != BufferLayout::record) {
    parts.buffers.push_back(values_.take());
  }
  if (is_view) parts.buffers.push_back(std::move(sizes));
  for (Builder& child : children_) parts.children.push_back(child.take());
  begin();
  if (!column_.words.empty()) {
    Builder words = text_builder();
    for (const std::string_view word : column_.words) words.append_text(word);
    parts.dictionary = words.take();
  }
  return make_array(std::move(parts));
}

Schema Builder::describe() const {
  std::vector<Schema> children;
  children.reserve(children_.size());
  for (const Builder& child : children_) children.push_back(child.describe());
  return make_schema({.name = column_.name,
                      .format = std::string(column_.format),
                      .is_nullable = column_.is_nullable,
                      .children = std::move(children),
                      .dictionary = column_.words.empty() ? Schema() : text_builder().describe()});
}

}  // namespace comptroller::arrow
