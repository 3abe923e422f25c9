// The bytes of an input, passed over once from the first to the last, through a window.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "load/input.hpp"

namespace comptroller::load {

// For one thread at a time, but for `bytes_read`.
class Bytes {
 public:
  // `input` must outlive this.
  Bytes(Input& input, std::size_t window) : input_(input), window_(window) {}

  // Whether there is a next byte. Throws what the input throws.
  bool more() { return !rest_.empty() || refill(); }
  // The next bytes, as far as the window reaches.
  std::string_view rest() const { return rest_; }
  void pass(std::size_t count) { rest_.remove_prefix(count); }

  // From now on what is passed is kept at the end of `out`, `most` bytes at the most.
  void keep(std::vector<char>& out, std::size_t most);
  // What was kept, and no more is; nothing, and nothing is left in `out`, where it was too long.
  std::optional<std::string_view> kept();

  // How much of the input has been taken so far; from any thread.
  std::uint64_t bytes_read() const { return bytes_read_.load(std::memory_order_relaxed); }

 private:
  bool refill();
  void keep_passed();

  Input& input_;
  std::vector<char> window_;
  std::string_view rest_;
  bool is_at_end_ = false;  // of the input
  std::atomic<std::uint64_t> bytes_read_ = 0;

  std::vector<char>* out_ = nullptr;
  std::size_t most_ = 0;
  std::size_t begin_ = 0;             // of what is kept, in out_
  const char* kept_until_ = nullptr;  // in the window
  bool is_too_long_ = false;
};

}  // namespace comptroller::load
