// Checkpoints: the size and the root of a log at a time, as text to be signed (C2SP
// tlog-checkpoint).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "journal/hash.hpp"

namespace comptroller::journal {

struct Checkpoint {
  std::string origin;  // identifies the log
  std::uint64_t size = 0;
  Hash root{};

  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

// Returns three lines: the origin, the size and the root in base64. Throws invalid_request if the
// origin is empty or contains control characters, or the size exceeds max_tree_size.
std::string text_of(const Checkpoint& checkpoint);

// Reads what text_of returns; throws invalid_request for any other text. Extension lines, which the
// format permits, are rejected, because a Checkpoint cannot represent them.
Checkpoint read_checkpoint(std::string_view text);

}  // namespace comptroller::journal
