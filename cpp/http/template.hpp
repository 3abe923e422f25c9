// Text with slots, such as the head of an answer or a line of the log.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace comptroller::http {

inline constexpr std::array<std::string_view, 9> slot_names{
    "default_headers",  // added by the server to every answer, such as the date
    "request_id",
    "length",             // of the body, in bytes
    "replay_header",      // of an answer replayed for an idempotency key
    "large_body_header",  // of an answer that is compressed for some clients
    "time",               // RFC 3339, UTC
    "client",             // JSON
    "customer",           // JSON
    "duration",           // milliseconds
};

// The texts of the slots, in the order of slot_names.
using Values = std::array<std::string_view, slot_names.size()>;

// A text in which a slot is its name between two NULs. Immutable.
class Template {
 public:
  // Throws std::invalid_argument for a NUL that does not begin a slot.
  explicit Template(std::string_view text);

  // Appends the text with its slots filled.
  void append(std::string& out, const Values& values) const;

 private:
  struct Part {
    std::string text;
    std::optional<std::size_t> slot;  // the one after the text
  };

  std::vector<Part> parts_;
};

}  // namespace comptroller::http
