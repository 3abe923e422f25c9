// Loads files. Every line is accounted for; by default a file with a rejected line changes nothing.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "json/reader.hpp"
#include "load/input.hpp"
#include "service/service.hpp"

namespace comptroller::load {

// The shortest time between two calls of LoadOptions::progress.
inline constexpr std::int64_t progress_interval_ms = 100;

struct LoadOptions {
  std::string kind;                        // such as "claims" or "payout-groups"
  std::optional<std::string> customer_id;  // of lines that name none
  bool keep_going = false;                 // commits the good lines of a file that has bad ones
  bool dry_run = false;                    // commits nothing; the result is what would have been
  // Called with the bytes and rows done so far; ends the load by throwing.
  std::function<void(std::uint64_t bytes, std::uint64_t rows)> progress;
  // Called as often as progress, and right before each commit; ends the load by throwing.
  std::function<void()> check_interrupt;
};

struct Rejection {
  std::uint64_t line = 0;  // from 1
  std::string code;
  std::string message;

  using fields =
      Fields<Field<&Rejection::line>, Field<&Rejection::code>, Field<&Rejection::message>>;
};

// read = inserted + updated + unchanged + rejected + blank.
struct Result {
  bool committed = false;
  std::uint64_t read = 0;
  std::uint64_t inserted = 0;
  std::uint64_t updated = 0;
  std::uint64_t unchanged = 0;
  std::uint64_t rejected = 0;
  std::uint64_t blank = 0;
  json::UnknownMembers unknown_members;
  std::vector<Rejection> rejections;  // the first 1,000

  using fields =
      Fields<Field<&Result::committed>, Field<&Result::read>, Field<&Result::inserted>,
             Field<&Result::updated>, Field<&Result::unchanged>, Field<&Result::rejected>,
             Field<&Result::blank>, Field<&Result::unknown_members>, Field<&Result::rejections>>;
};

// `cause` ended a load with keep_going after it had committed something: `result` accounts for what
// was committed.
struct Interrupted : std::exception {
  Interrupted(std::exception_ptr why, Result committed)
      : cause(std::move(why)), result(std::move(committed)) {}

  std::exception_ptr cause;
  Result result;
};

// Reads the input to its end. Bad lines are rejections of the result, never exceptions. Throws
// insufficient_scope (for a client), invalid_request (an unknown kind), unavailable (a failure of
// disk or input; its transaction is undone) and what the functions of `options` throw: inside an
// Interrupted once something was committed.
Result load(service::Service& service, const Principal& principal, Input& input,
            const LoadOptions& options);

std::string to_json(const Result& result);

}  // namespace comptroller::load
