// Text with slots, such as the head of an answer or a line of the log.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace comptroller::http {

// What a slot is filled with.
enum class Slot : std::uint8_t {
  default_headers,  // those that the server adds to every answer, such as the date
  request_id,
  length,             // of the body, in bytes
  replay_header,      // of an answer that an idempotency key replays
  large_body_header,  // of an answer that some clients get compressed
  time,               // RFC 3339, UTC
  client,             // JSON
  customer,           // JSON
  duration,           // milliseconds
};
// A slot is a NUL and its letter in the text of a template.
inline constexpr std::string_view letters_of_slots = "hrnpvtcud";

using Values = std::array<std::string_view, letters_of_slots.size()>;

class Template {
 public:
  // Throws std::invalid_argument for a NUL without the letter of a slot.
  explicit Template(std::string_view text);

  // Appends the text with its slots filled.
  void append(std::string& out, const Values& values) const;

 private:
  struct Part {
    std::string text;
    std::optional<std::size_t> slot;  // after the text
  };

  std::vector<Part> parts_;
};

}  // namespace comptroller::http
