// Collects values of one Arrow type. A struct, a list or a map contains other builders; a map is a
// list of structs.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arrow/memory.hpp"
#include "arrow/text_codes.hpp"
#include "model/error.hpp"
#include "model/identifier.hpp"

namespace comptroller::arrow {

// How a stream represents values. views: texts as utf8_view. compact: also closed sets as int8
// codes, ids of payout groups as arrow.uuid, and times without a zone.
enum class Representation : std::uint8_t { usual, views, compact };

// The buffers of an Arrow type. A view has 16 bytes: a short text, or the size, first bytes and
// position of a longer text. A uuid has 16 bytes.
enum class BufferLayout : std::uint8_t { number, boolean, text, view, uuid, list, record };

// The name and type of a column.
struct Column {
  std::string name;
  std::string_view format;  // in the notation of the Arrow C data interface
  BufferLayout layout = BufferLayout::text;
  bool is_nullable = false;
  std::size_t width = 0;                           // of a number or a uuid, in bytes
  std::span<const std::string_view> dictionary{};  // of a dictionary; the numbers are codes in it
  std::shared_ptr<TextCodes> codes{};              // of shared texts; the numbers are their codes
};

// Builds arrays of one type. Offsets have 32 bits: call `take` before a builder holds 2 GiB. For
// one thread at a time.
class Builder {
 public:
  explicit Builder(Column column, std::vector<Builder> children = {})
      : column_(std::move(column)), children_(std::move(children)) {
    begin();
  }

  // For a builder of numbers with the width of Number.
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
  // Appends a text of `size` bytes that `write` writes to its argument.
  template <class Write>
  void append_text(std::size_t size, const Write& write) {
    if (column_.layout == BufferLayout::view) {
      append_view(size, write);
    } else if (column_.layout == BufferLayout::uuid) {
      append_uuid(size, write);
    } else {
      write(values_.extend(size));
      push_end(values_.size());
    }
    append_valid();
  }
  // Appends a text that other rows of the batch may share. `key` identifies the text. `text`
  // returns it, and is called if the batch does not have the text yet. A column with codes gets the
  // code of the text.
  template <class Text>
  void append_shared_text(std::int64_t key, const Text& text) {
    if (key < 0 || key >= max_shared_keys) {
      if (column_.codes) return append_number(column_.codes->code(key, text));
      return append_text(text());
    }
    const auto index = static_cast<std::size_t>(key);
    if (column_.layout == BufferLayout::view) {
      if (index >= shared_views_.size()) shared_views_.resize(index + 1);
      TextView& view = shared_views_[index];
      if (view.front() != 0) return append_known_view(view);
      append_text(text());
      view = last_view();
      return;
    }
    if (index >= rows_of_shared_.size()) rows_of_shared_.resize(index + 1);
    std::int64_t& row = rows_of_shared_[index];
    if (column_.codes) {
      if (row == 0) row = 1 + column_.codes->code(key, text);
      return append_number(static_cast<std::int32_t>(row - 1));
    }
    if (row > 0) return append_text_of_row(row - 1);
    append_text(text());
    row = length_;
  }
  // Appends a text that is likely to recur: `write` writes the `size` bytes of the text that
  // `source` stands for. Views of the same text share its bytes.
  template <class Write>
  void append_recurring_text(std::string_view source, std::size_t size, const Write& write) {
    if (column_.layout != BufferLayout::view || size <= max_inline_size ||
        source.size() < sizeof(std::uint64_t) || source.size() > max_source_size) {
      return append_text(size, write);
    }
    if (recent_texts_.empty()) recent_texts_.resize(std::size_t{1} << recent_texts_bits);
    std::uint64_t end = 0;
    std::memcpy(&end, source.data() + source.size() - sizeof end, sizeof end);
    RecentText& recent = recent_texts_[end * hash_factor >> (64 - recent_texts_bits)];
    if (recent.is(source, size)) return append_known_view(recent.view);
    append_text(size, write);
    recent.view = last_view();
    recent.source_size =
        static_cast<std::uint8_t>(source.copy(recent.source.data(), source.size()));
  }
  // Appends a list of the elements that were appended since the previous list.
  void end_list() {
    push_end(static_cast<std::size_t>(children_.front().length_));
    append_valid();
  }
  // Appends a struct. One value must have been appended to each of its members.
  void end_record() { append_valid(); }
  void append_null();

  Builder& child(std::size_t index) { return children_[index]; }
  std::span<Builder> children() { return children_; }
  Builder& elements() { return children_.front(); }
  std::int64_t length() const { return length_; }
  // The approximate number of bytes that it holds.
  std::size_t size() const;

  // Returns the values so far and begins again with no values.
  Array take();
  Schema describe() const;

 private:
  static constexpr std::size_t view_size = 16;
  static constexpr std::size_t max_inline_size = 12;
  using TextView = std::array<std::uint64_t, 2>;  // the first half has the size
  static constexpr std::int64_t max_shared_keys = 100'000;
  static constexpr std::size_t max_source_size = 47;
  static constexpr int recent_texts_bits = 12;
  static constexpr std::uint64_t hash_factor = 0x9e3779b97f4a7c15;

  // The view of a text of the batch, and what the text was made from, in one cache line.
  struct alignas(64) RecentText {
    TextView view{};
    std::uint8_t source_size = 0;
    std::array<char, max_source_size> source{};

    bool is(std::string_view other, std::size_t size) const {
      std::int32_t view_length = 0;
      std::memcpy(&view_length, view.data(), sizeof view_length);
      return std::cmp_equal(view_length, size) &&
             std::string_view(source.data(), source_size) == other;
    }
  };

  template <class Write>
  void append_view(std::size_t size, const Write& write) {
    char* const view = append_empty_view();
    const auto length = static_cast<std::int32_t>(size);
    std::memcpy(view, &length, sizeof length);
    char* const inside = view + sizeof length;
    if (size <= max_inline_size) return write(inside);
    const auto offset = static_cast<std::int32_t>(values_.size());
    char* const at = values_.extend(size);
    write(at);
    // The first four bytes, the index of the buffer (there is only one buffer), and the offset.
    std::memcpy(inside, at, 4);
    std::memcpy(inside + 8, &offset, sizeof offset);
  }
  template <class Write>
  void append_uuid(std::size_t size, const Write& write) {
    std::string text(size, '\0');
    write(text.data());
    if (pack_uuid(text, values_.extend(packed_uuid_length))) return;
    throw Error::damaged("an id of a payout group is not a UUID");
  }
  void append_text_of_row(std::int64_t row);
  void append_known_view(const TextView& view) {
    places_.push(view);
    append_valid();
  }
  TextView last_view() const {
    TextView view{};
    std::memcpy(view.data(), places_.data() + places_.size() - view_size, view_size);
    return view;
  }
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
  Buffer validity_;  // empty if there are no nulls
  Buffer places_;    // 0 and the ends of texts or lists; or views
  Buffer values_;
  // By the key of a shared text that is not a view: 1 + the first row of the batch with this text,
  // or 1 + its code.
  std::vector<std::int64_t> rows_of_shared_;
  // By the key of a shared text: its view; zeros if the batch does not have the text yet.
  std::vector<TextView> shared_views_;
  std::vector<RecentText> recent_texts_;  // by a hash of the source
};

}  // namespace comptroller::arrow
