// How large the answer of a page becomes.
#pragma once

#include <cstddef>
#include <exception>

namespace comptroller::store {

// Ends a read that was begun on the condition that it is short.
class TooLong final : public std::exception {};

class PageBytes {
 public:
  PageBytes() = default;
  // A page of more than 128 KiB then throws TooLong.
  static PageBytes of_short_read() { return PageBytes(true); }

  // Whether a page with this many bytes ends early, so that no page takes much memory, or long.
  bool is_full(std::size_t bytes) const {
    if (is_short_ && bytes > max_of_short) throw TooLong();
    return bytes > max;
  }

 private:
  static constexpr std::size_t max = std::size_t{4} << 20U;
  static constexpr std::size_t max_of_short = std::size_t{128} << 10U;

  explicit PageBytes(bool is_short) : is_short_(is_short) {}

  bool is_short_ = false;
};

}  // namespace comptroller::store
