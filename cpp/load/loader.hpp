// Loads files. The result accounts for every line. By default, a file with a rejected line changes
// nothing.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "load/input.hpp"
#include "load/result.hpp"
#include "service/service.hpp"

namespace comptroller::load {

// The minimum time between two calls of LoadOptions::progress.
inline constexpr std::int64_t progress_interval_ms = 100;

struct LoadOptions {
  std::string kind;                         // such as "claims" or "payout-groups"
  std::optional<std::string> customer_id;   // of lines without a customer_id
  std::optional<std::string> input_name;    // for the journal
  bool keep_going = false;                  // commits the valid lines of a file with rejected lines
  bool dry_run = false;                     // commits nothing; the result is that of a load
  bool only_lines = false;                  // each line is a record, whatever the first bytes are
  std::optional<std::string> mapping = {};  // how the source became lines, for the journal
  // Returns the SHA-256 of the source as hexadecimal digits, if it is known, at the end. Without
  // this function, it is that of the bytes of the input.
  std::function<std::optional<std::string>()> input_sha256 = {};
  // Called with the bytes and rows done so far, which are fewer if the load begins again. An
  // exception ends the load. Without keep_going, reading a line counts as half of its bytes.
  std::function<void(std::uint64_t bytes, std::uint64_t rows)> progress = {};
  // Called as often as progress, and before each commit. An exception ends the load.
  std::function<void()> check_interrupt = {};
  // Called with the result as JSON: at the end, and before an exception that ends a load with
  // keep_going after a commit, which then is the result of the committed lines.
  std::function<void(const std::string& result)> account = {};
  // Called with each rejection and the text of its line; with no rejection if the load begins
  // again, which then repeats them. Not in the order of lines.
  std::function<void(const Rejection* rejection, std::string_view text)> rejected = {};

  // Whether the load commits lines while it reads others.
  bool is_in_parts() const { return keep_going && !dry_run; }
};

// Reads the input to its end. Invalid lines are rejections in the result, not exceptions. Throws
// insufficient_scope (for a client), invalid_request (an unknown kind), unavailable (a failure of
// disk or input, which undoes the transaction) and the exceptions of the functions in `options`.
Result load(service::Service& service, const Principal& principal, Input& input,
            const LoadOptions& options);

}  // namespace comptroller::load
