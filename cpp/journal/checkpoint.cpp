#include "journal/checkpoint.hpp"

#include <algorithm>
#include <charconv>

#include "journal/base64.hpp"
#include "journal/lines.hpp"
#include "journal/tree.hpp"
#include "model/error.hpp"
#include "model/text.hpp"

namespace comptroller::journal {

namespace {

void require_origin(std::string_view origin) {
  if (origin.empty() || !count_characters(origin)) {
    throw Error::invalid(
        "checkpoint.origin",
        "must be a line of UTF-8 without control characters; it identifies the log");
  }
}

[[noreturn]] void refuse_size() {
  throw Error::invalid(
      "checkpoint.size",
      "must be a decimal number without leading zeros, at most " + std::to_string(max_tree_size));
}

std::uint64_t read_size(std::string_view text) {
  std::uint64_t size = 0;
  std::from_chars(text.data(), text.data() + text.size(), size);
  if (size > max_tree_size || std::to_string(size) != text) refuse_size();
  return size;
}

Hash read_root(std::string_view text) {
  Hash root{};
  const auto bytes = from_base64(text);
  if (!bytes || bytes->size() != root.size()) {
    throw Error::invalid("checkpoint.root", "must be a hash of 32 bytes in base64");
  }
  std::ranges::copy(*bytes, root.begin());
  return root;
}

}  // namespace

std::string text_of(const Checkpoint& checkpoint) {
  require_origin(checkpoint.origin);
  if (checkpoint.size > max_tree_size) refuse_size();
  return checkpoint.origin + "\n" + std::to_string(checkpoint.size) + "\n" +
         to_base64(bytes_of(checkpoint.root)) + "\n";
}

Checkpoint read_checkpoint(std::string_view text) {
  const auto origin = take_line(text);
  const auto size = take_line(text);
  const auto root = take_line(text);
  if (!origin || !size || !root || !text.empty()) {
    throw Error::invalid("checkpoint", "must be three lines: origin, size and root");
  }
  require_origin(*origin);
  return {.origin = std::string(*origin), .size = read_size(*size), .root = read_root(*root)};
}

}  // namespace comptroller::journal
