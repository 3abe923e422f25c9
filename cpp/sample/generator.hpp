// Sample data: realistic lines of every kind that can be loaded, for demonstrations, tests and
// benchmarks. The same options give the same bytes on every machine and with every compiler.
//
// Files of one seed and one customer fit together: with rows_for(kind, n) rows of each kind, every
// identity, payout group and address that a line names is a line of its own kind's file. A file
// made alone names the records of the set that it would belong to.
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
  // Empty: `default`. Customers have records of their own, so that one store can hold the samples
  // of several. Kinds whose records carry no customer_id get one only when it is given here.
  std::string customer;
};

// One thread at a time. Throws Error (invalid-request) for an unknown kind, more than max_rows rows
// or a customer that is no id.
class Generator {
 public:
  explicit Generator(const Options& options);

  // Writes the next bytes, at most `capacity`, and returns how many; 0 at the end. The whole is one
  // JSON object a line, `rows` lines, created_at (of balances: at) ascending.
  std::size_t read(char* out, std::size_t capacity);

 private:
  std::uint64_t rows_;
  std::uint64_t next_row_ = 0;
  std::function<void(std::string& out, std::uint64_t index)> append_row_;
  std::string line_;
  std::size_t read_of_line_ = 0;
};

// How many rows of a kind belong to that many claims. Throws like Generator.
std::uint64_t rows_for(std::string_view kind, std::uint64_t claims);

}  // namespace comptroller::sample
