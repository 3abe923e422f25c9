// Generates sample data: realistic NDJSON of every kind that can be loaded, for demonstrations,
// tests and benchmarks. The same options give the same bytes on every machine and with every
// compiler.
//
// Files of one seed and one customer form a set: with rows_for(kind, n) rows of each kind, every
// identity, payout group and address that a line names is a line of its own kind's file. A file
// generated alone names the records of its set.
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
  // Empty: `default`. Each customer has its own records, so that one store can hold the samples of
  // several. Records of kinds without a customer_id get one only if it is given here.
  std::string customer;
};

// For one thread at a time. Throws invalid_request for an unknown kind, more than max_rows rows or
// an invalid customer.
class Generator {
 public:
  explicit Generator(const Options& options);

  // Writes the next bytes, at most `capacity`, and returns how many; 0 at the end. There are `rows`
  // lines of one JSON object each, in ascending order of created_at (of balances: at).
  std::size_t read(char* out, std::size_t capacity);

 private:
  std::uint64_t rows_;
  std::uint64_t next_row_ = 0;
  std::function<void(std::string& out, std::uint64_t index)> append_row_;
  std::string line_;
  std::size_t read_of_line_ = 0;
};

// How many rows of a kind belong to a set with this many claims. Throws like Generator.
std::uint64_t rows_for(std::string_view kind, std::uint64_t claims);

}  // namespace comptroller::sample
