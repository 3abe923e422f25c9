// Reads Arrow streams according to their specification, and shows values as text: null, numbers as
// stored, texts without quotes, [lists], {records}.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "arrow/stream.hpp"
#include "model/amount.hpp"
#include "model/identifier.hpp"

namespace comptroller::arrow {

template <class T>
T at(const void* buffer, std::int64_t index) {
  T value;
  std::memcpy(&value,
              static_cast<const char*>(buffer) + index * static_cast<std::int64_t>(sizeof(T)),
              sizeof(T));
  return value;
}

inline bool bit(const void* buffer, std::int64_t index) {
  return ((at<std::uint8_t>(buffer, index / 8) >> (index % 8)) & 1) != 0;
}

std::string show(const ArrowSchema& type, const ArrowArray& array, std::int64_t index);

inline std::string show_members(const ArrowSchema& type, const ArrowArray& array,
                                std::int64_t index) {
  std::string text = "{";
  for (std::int64_t member = 0; member < type.n_children; ++member) {
    if (member > 0) text += ", ";
    text += show(*type.children[member], *array.children[member], index);
  }
  return text + "}";
}

inline std::string show_elements(const ArrowSchema& type, const ArrowArray& array,
                                 std::int64_t index) {
  std::string text = "[";
  const auto end = at<std::int32_t>(array.buffers[1], index + 1);
  for (std::int64_t i = at<std::int32_t>(array.buffers[1], index); i < end; ++i) {
    if (text.size() > 1) text += ", ";
    text += show(*type.children[0], *array.children[0], i);
  }
  return text + "]";
}

inline std::string show_view(const ArrowArray& array, std::int64_t index) {
  REQUIRE(array.n_buffers ==
          4);  // validity, views, one buffer of texts, the sizes of the text buffers
  const char* const view = static_cast<const char*>(array.buffers[1]) + 16 * index;
  const auto size = static_cast<std::size_t>(at<std::int32_t>(view, 0));
  if (size <= 12) {
    CHECK(std::string(view + 4 + size, 12 - size) == std::string(12 - size, '\0'));
    return {view + 4, size};
  }
  CHECK(at<std::int32_t>(view, 2) == 0);
  const auto offset = static_cast<std::size_t>(at<std::int32_t>(view, 3));
  REQUIRE(static_cast<std::int64_t>(offset + size) <= at<std::int64_t>(array.buffers[3], 0));
  const std::string text(static_cast<const char*>(array.buffers[2]) + offset, size);
  CHECK(text.substr(0, 4) == std::string(view + 4, 4));
  return text;
}

inline std::string show(const ArrowSchema& type, const ArrowArray& array, std::int64_t index) {
  const std::string format = type.format;
  REQUIRE(index < array.length);
  if (array.null_count > 0 && !bit(array.buffers[0], index)) {
    CHECK((type.flags & ARROW_FLAG_NULLABLE) != 0);
    return "null";
  }
  if (format == "+s") return show_members(type, array, index);
  if (format == "+l" || format == "+m") return show_elements(type, array, index);
  if (format == "b") return bit(array.buffers[1], index) ? "true" : "false";
  if (format == "tsu:UTC" || format == "tsu:")
    return std::to_string(at<std::int64_t>(array.buffers[1], index));
  if (format == "d:38,18") return format_scaled(at<Int128>(array.buffers[1], index));
  if (format == "c") {
    const auto code = at<std::int8_t>(array.buffers[1], index);
    if (type.dictionary == nullptr) return std::to_string(code);
    return show(*type.dictionary, *array.dictionary, code);
  }
  if (format == "w:16") {
    CHECK(std::string_view(type.metadata + 32, 10) == "arrow.uuid");
    std::string text(uuid_length, '\0');
    format_uuid(static_cast<const char*>(array.buffers[1]) + 16 * index, text.data());
    return text;
  }
  if (format == "i") return std::to_string(at<std::int32_t>(array.buffers[1], index));
  if (format == "vu") return show_view(array, index);
  REQUIRE(format == "u");
  const auto begin = at<std::int32_t>(array.buffers[1], index);
  const auto end = at<std::int32_t>(array.buffers[1], index + 1);
  return {static_cast<const char*>(array.buffers[2]) + begin,
          static_cast<std::size_t>(end - begin)};
}

inline void check_alignment(const ArrowArray& array) {
  for (std::int64_t i = 0; i < array.n_buffers; ++i) {
    CHECK(reinterpret_cast<std::uintptr_t>(array.buffers[i]) % 64 == 0);
    CHECK((array.buffers[i] != nullptr || (i == 0 && array.null_count == 0)));
  }
  for (std::int64_t i = 0; i < array.n_children; ++i) check_alignment(*array.children[i]);
}

class Consumer {
 public:
  explicit Consumer(const Table& table) {
    table.open(&stream_);
    REQUIRE(stream_.get_schema(&stream_, &schema_) == 0);
  }
  ~Consumer() {
    schema_.release(&schema_);
    if (stream_.release != nullptr) stream_.release(&stream_);
  }
  Consumer(const Consumer&) = delete;
  Consumer& operator=(const Consumer&) = delete;

  // Appends the rows of the next batch. Returns the number of rows, 0 at the end, or minus the
  // error.
  std::int64_t next() {
    ArrowArray array{};
    const int failure = stream_.get_next(&stream_, &array);
    if (failure != 0) return -failure;
    if (array.release == nullptr) return 0;
    check_alignment(array);
    for (std::int64_t i = 0; i < array.length; ++i) rows.push_back(show(schema_, array, i));
    const std::int64_t length = array.length;
    array.release(&array);
    CHECK((array.release == nullptr));
    CHECK(length > 0);
    return length;
  }
  const std::vector<std::string>& all() {
    std::int64_t count = next();
    while (count > 0) count = next();
    CHECK(count == 0);
    return rows;
  }
  std::string message() {
    const char* text = stream_.get_last_error(&stream_);
    return text == nullptr ? "" : text;
  }
  void release() { stream_.release(&stream_); }
  ArrowArrayStream& stream() { return stream_; }

  std::vector<std::string> rows;

 private:
  ArrowArrayStream stream_{};
  ArrowSchema schema_{};
};

// Returns the rows of the same table with texts as views.
inline std::vector<std::string> rows_of(const Table& table) {
  std::vector<std::string> rows = Consumer(table).all();
  CHECK(Consumer(table.with_views()).all() == rows);
  return rows;
}

}  // namespace comptroller::arrow
