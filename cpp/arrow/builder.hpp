// Collects values of one Arrow type. A struct, a list or a map contains other builders; a map is a
// list of structs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "arrow/memory.hpp"

namespace comptroller::arrow {

// Which buffers an Arrow type has, and what they hold.
enum class BufferLayout : std::uint8_t { number, boolean, text, view, list, record };

// The name and type of a column.
struct Column {
  std::string name;
  std::string_view format;  // as the Arrow C data interface writes types
  BufferLayout layout = BufferLayout::text;
  bool is_nullable = false;
  std::size_t width = 0;                      // of a number, in bytes
  std::span<const std::string_view> words{};  // of a dictionary that the numbers are codes of
};

// Offsets have 32 bits: call `take` before a builder holds 2 GiB.
class Builder {
 public:
  explicit Builder(Column column, std::vector<Builder> children = {})
      : column_(std::move(column)), children_(std::move(children)) {
    begin();
  }

  // For a builder of numbers whose width is that of Number.
  template <class Number>
  void append_number(Number value) {
    values_.push(value);
    append_valid();
  }
  void append_boolean(bool value) {
    values_.push_bit(length_, value);
    append_valid();
  }
  void append_text(std::string_view text) {
    append_text(text.size(), [&](char* at) {
      if (!text.empty()) std::memcpy(at, text.data(), text.size());
    });
  }
  // Appends a text of `size` bytes, which `write` writes at its argument.
  template <class Write>
  void append_text(std::size_t size, const Write& write) {
    if (column_.layout == BufferLayout::view) {
      append_view(size, write);
    } else {
      write(values_.extend(size));
      push_end(values_.size());
    }
    append_valid();
  }
  // Appends a text that other rows of the batch may have as well. `key` stands for it; `text` gives
  // it when the batch has none yet.
  template <class Text>
  void append_shared_text(std::int64_t key, const Text& text) {
    if (key < 0 || key >= most_shared) return append_text(text());
    const auto index = static_cast<std::size_t>(key);
    if (index >= rows_of_shared_.size()) rows_of_shared_.resize(2 * index + 1);
    std::int64_t& row = rows_of_shared_[index];
    if (row > 0) return append_text_of_row(row - 1);
    append_text(text());
    row = length_;
  }
  // Appends a list of the elements that were appended since the last list.
  void end_list() {
    push_end(static_cast<std::size_t>(children_.front().length_));
    append_valid();
  }
  // Appends a struct; one value must have been appended to each member.
  void end_record() { append_valid(); }
  void append_null();

  Builder& child(std::size_t index) { return children_[index]; }
  std::span<Builder> children() { return children_; }
  Builder& elements() { return children_.front(); }
  std::int64_t length() const { return length_; }
  // The same columns, empty, with texts as views (utf8_view): 16 bytes that hold a short text, or
  // the size, first bytes and position of a longer one.
  Builder with_views() &&;
  // Approximately the bytes it holds.
  std::size_t size() const;

  // Returns the values so far and starts with none.
  Array take();
  Schema describe() const;

 private:
  static constexpr std::size_t view_size = 16;
  static constexpr std::size_t most_inside_a_view = 12;
  static constexpr std::int64_t most_shared = 100'000;

  template <class Write>
  void append_view(std::size_t size, const Write& write) {
    char* const view = append_empty_view();
    const auto length = static_cast<std::int32_t>(size);
    std::memcpy(view, &length, sizeof length);
    char* const inside = view + sizeof length;
    if (size <= most_inside_a_view) return write(inside);
    const auto offset = static_cast<std::int32_t>(values_.size());
    char* const at = values_.extend(size);
    write(at);
    // The first four bytes, the index of the buffer (there is only one), and the offset.
    std::memcpy(inside, at, 4);
    std::memcpy(inside + 8, &offset, sizeof offset);
  }
  void append_text_of_row(std::int64_t row);
  char* append_empty_view() {
    char* const view = places_.extend(view_size);
    std::memset(view, 0, view_size);
    return view;
  }
  void append_valid() {
    if (null_count_ > 0) validity_.push_bit(length_, true);
    ++length_;
  }
  bool has_ends() const {
    return column_.layout == BufferLayout::text || column_.layout == BufferLayout::list;
  }
  void begin() {
    if (has_ends()) push_end(0);
  }
  void push_end(std::size_t end) { places_.push(static_cast<std::int32_t>(end)); }

  Column column_;
  std::vector<Builder> children_;
  std::int64_t length_ = 0;
  std::int64_t null_count_ = 0;
  Buffer validity_;  // empty while there are no nulls
  Buffer places_;    // 0 and the ends of texts or lists; or views
  Buffer values_;
  std::vector<std::int64_t> rows_of_shared_;  // 1 + the first row with a shared text, by its key
};

}  // namespace comptroller::arrow
