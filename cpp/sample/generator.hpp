// Generates sample data: realistic NDJSON of every kind that can be loaded, for demonstrations,
// tests and benchmarks. The same options produce the same bytes on every machine and with every
// compiler.
//
// Files with the same seed and customer form a set. If each file has rows_for(kind, n) rows, every
// identity, payout group and address that a line names is in the file of its kind. A single file
// names records of its set as well.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace comptroller::sample {

inline constexpr std::uint64_t max_rows = 1'000'000'000;

struct Options {
  std::string kind;
  std::uint64_t rows = 0;
  std::uint64_t seed = 0;
  // Empty: `default`. Each customer has its own records, so that one store can contain the samples
  // of several customers. A customer_id that the specification makes optional is written only if it
  // is set here.
  std::string customer;
};

// For one thread at a time. The constructor throws invalid_request for an unknown kind, more than
// max_rows rows or an invalid customer.
class Generator {
 public:
  explicit Generator(const Options& options);

  // Writes the next bytes, at most `capacity`, and returns their number; 0 at the end. The output
  // has `rows` lines of one JSON object each, in ascending order of created_at (of balances: at).
  std::size_t read(char* out, std::size_t capacity);

 private:
  std::uint64_t rows_;
  std::uint64_t next_row_ = 0;
  std::function<void(std::string& out, std::uint64_t index)> append_row_;
  std::string line_;
  std::size_t read_of_line_ = 0;
};

// Returns the number of rows of a kind in a set with this many claims. Throws like Generator.
std::uint64_t rows_for(std::string_view kind, std::uint64_t claims);

}  // namespace comptroller::sample
