// The result of a load, which accounts for every line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "json/reading.hpp"
#include "model/fields.hpp"

namespace comptroller::load {

struct Rejection {
  RECORD(Rejection);
  std::uint64_t number = 0;                   // of the line among all lines of the load, from 1
  FIELD(std::uint64_t, line);                 // in its file, from 1
  FIELD(std::optional<std::string>, id);      // of the record, if it can be read
  FIELD(std::optional<std::string>, member);  // the first invalid one
  FIELD(std::optional<std::string>, value);   // of the member
  FIELD(std::string, code);
  FIELD(std::string, message);
};

// The rejected lines with one code, one invalid member and one reason (rule_of).
struct RejectionGroup {
  RECORD(RejectionGroup);
  FIELD(std::optional<std::string>, member);
  FIELD(std::string, code);
  FIELD(std::uint64_t, lines);
  FIELD(std::uint64_t, first_line);  // that was rejected
  FIELD(std::string, message);       // of that line
};

// read = inserted + updated + unchanged + rejected + blank.
struct Result {
  RECORD(Result);
  FIELD(bool, committed);
  FIELD(std::uint64_t, read);
  FIELD(std::uint64_t, inserted);
  FIELD(std::uint64_t, updated);
  FIELD(std::uint64_t, unchanged);
  FIELD(std::uint64_t, rejected);
  FIELD(std::uint64_t, blank);
  FIELD(json::UnknownMembers, unknown_members);
  FIELD(std::vector<Rejection>, rejections);             // the first 1,000
  FIELD(std::vector<RejectionGroup>, rejection_groups);  // of all of them
};

}  // namespace comptroller::load
