// Loading files: every line is accounted for, and all of it is kept or, unless asked otherwise,
// none.
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

// How often progress is told at the most.
inline constexpr std::int64_t progress_interval_ms = 100;

struct Options {
  std::string kind;                        // such as "claims" or "payout-groups"
  std::optional<std::string> customer_id;  // of lines that name none
  bool keep_going = false;                 // keeps the good lines of a file that has bad ones
  bool dry_run = false;                    // keeps nothing, and says what would have been
  // Told the bytes and rows done so far; may throw to end the load.
  std::function<void(std::uint64_t bytes, std::uint64_t rows)> progress;
  // Asked as often as progress is told, and right before each commit; throws to end the load.
  std::function<void()> check;
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

// A load that keeps going was ended by `cause` when it had committed something, which stays and is
// what `result` counts.
struct Interrupted : std::exception {
  Interrupted(std::exception_ptr why, Result kept)
      : cause(std::move(why)), result(std::move(kept)) {}

  std::exception_ptr cause;
  Result result;
};

// Reads the input to its end. Refuses: insufficient_scope (to a client), invalid_request (an
// unknown kind), unavailable (what the disk or the input cannot give; nothing of the transaction in
// hand is kept). Lines are never refused by an Error: they are rejections of the result. What ends
// a load that has committed something is thrown inside an Interrupted, whatever it is.
Result load(service::Service& service, const Principal& principal, Input& input,
            const Options& options);

std::string to_json(const Result& result);

}  // namespace comptroller::load
