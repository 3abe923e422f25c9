// Parsed lines in a temporary file.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "files/unnamed_file.hpp"
#include "load/parsed_lines.hpp"

namespace comptroller::load {

// Values as bytes, for this process only. `copy_value` copies a value to an Encoder, or from a
// Decoder into the value, whose memory it reuses.
struct Encoder {
  std::string bytes;

  void copy(const void* from, std::size_t size) {
    bytes.append(static_cast<const char*>(from), size);
  }
};

struct Decoder {
  std::string_view bytes;

  void copy(void* to, std::size_t size) {
    if (size > 0) std::memcpy(to, bytes.data(), size);
    bytes.remove_prefix(size);
  }
};

template <class Coder, class T>
void copy_value(Coder& coder, T& value) {
  if constexpr (is_optional<T>) {
    bool is_set = value.has_value();
    coder.copy(&is_set, sizeof is_set);
    if (!is_set) return value.reset();
    if (!value) value.emplace();
    copy_value(coder, *value);
  } else if constexpr (std::same_as<T, std::string> || is_array<T>) {
    auto size = static_cast<std::uint32_t>(value.size());
    coder.copy(&size, sizeof size);
    value.resize(size);
    if constexpr (is_array<T>) {
      for (auto& each : value) copy_value(coder, each);
    } else {
      coder.copy(value.data(), size);
    }
  } else if constexpr (requires { value.first; }) {
    copy_value(coder, value.first);
    copy_value(coder, value.second);
  } else if constexpr (Record<T>) {
    for_each_field<T>([&]<class F>() { copy_value(coder, value.*F::member); });
  } else if constexpr (requires { value.value; }) {
    static_assert(sizeof(T) == sizeof value.value);
    copy_value(coder, value.value);
  } else if constexpr (requires { value.text; }) {
    static_assert(sizeof(T) == sizeof value.text);
    copy_value(coder, value.text);
  } else if constexpr (requires { value.pairs; }) {
    static_assert(sizeof(T) == sizeof value.pairs);
    copy_value(coder, value.pairs);
  } else {
    static_assert(std::is_trivially_copyable_v<T>);
    coder.copy(&value, sizeof value);
  }
}

// For one thread at a time.
template <Record Line>
class LineFile {
 public:
  explicit LineFile(std::string folder) : file_(std::move(folder)) {}

  void append(std::vector<ParsedLine<Line>>& lines) {
    encoder_.bytes.clear();
    for (ParsedLine<Line>& line : lines) copy_line(encoder_, line);
    batches_.push_back({file_.size(), encoder_.bytes.size(), lines.size()});
    file_.append(encoder_.bytes);
  }

  // How often `append` was called.
  std::size_t size() const { return batches_.size(); }

  // Sets `lines` to those of a call of `append`.
  void read(std::size_t number, std::vector<ParsedLine<Line>>& lines) {
    const Batch& batch = batches_[number];
    text_.resize(batch.size);
    if (file_.read(batch.begin, text_.data(), batch.size) != batch.size) {
      throw Error(Code::unavailable, "a temporary file of the load was cut off");
    }
    Decoder decoder{text_};
    lines.resize(batch.lines);
    for (ParsedLine<Line>& line : lines) copy_line(decoder, line);
  }

 private:
  struct Batch {
    std::uint64_t begin;
    std::size_t size;
    std::size_t lines;
  };

  template <class Coder>
  static void copy_line(Coder& coder, ParsedLine<Line>& line) {
    copy_value(coder, line.line);
    copy_value(coder, line.item);
    copy_value(coder, line.size);
    copy_value(coder, line.record);
    // The result of a load shows only code and detail of an error.
    std::optional<std::pair<Code, std::string>> refusal;
    if (line.refusal) refusal.emplace(line.refusal->code(), line.refusal->detail());
    copy_value(coder, refusal);
    if constexpr (std::same_as<Coder, Decoder>) {
      line.number = 0;
      line.refusal.reset();
      if (refusal) line.refusal = std::make_unique<const Error>(refusal->first, refusal->second);
    }
  }

  files::UnnamedFile file_;
  std::vector<Batch> batches_;
  Encoder encoder_;
  std::string text_;
};

}  // namespace comptroller::load
