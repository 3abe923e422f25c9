#include "db/postgresql/failures.hpp"

#include <algorithm>
#include <array>

#include "db/database.hpp"

namespace comptroller::db::postgresql {

namespace {

// The serialisation failure, the deadlock and the taken unique value.
constexpr std::array<std::string_view, 3> conflicts{"40001", "40P01", "23505"};
// A server that shuts down or recovers, or became a standby.
constexpr std::array<std::string_view, 5> ends{"57P01", "57P02", "57P03", "57P05", "25006"};
// Only a transaction on another server than that of its connection divides by zero.
constexpr std::string_view division_by_zero = "22012";
constexpr std::array<std::string_view, 2> unprepared{"26000", "42P05"};

}  // namespace

std::string one_line(std::string_view message) {
  std::string line(message);
  while (!line.empty() && line.back() == '\n') line.pop_back();
  std::ranges::replace_if(line, [](char each) { return each == '\n' || each == '\t'; }, ' ');
  return line;
}

void throw_replaced() {
  throw Lost(Code::unavailable, "the connection to the database was replaced; try again");
}

void throw_failure(std::string_view state, const std::string& message) {
  const auto is_one_of = [&](const auto& states) {
    return std::ranges::find(states, state) != states.end();
  };
  const std::string detail = "the database reports: " + one_line(message);
  if (is_one_of(conflicts)) {
    throw Conflict(Code::unavailable,
                   "other writes changed the same records again and again; try again");
  }
  if (state == division_by_zero) throw_replaced();
  if (is_one_of(ends) || state.starts_with("08")) throw Lost(Code::unavailable, detail);
  if (state == "42P01" && message.find("journal_writer") != std::string::npos) {
    throw Error(Code::unusable,
                "a newer comptroller has migrated the store, or its tables are gone; end this "
                "program, and upgrade it");
  }
  if (state == "55P03") {
    throw Locked(Code::unavailable,
                 "a load or another write holds a lock that this write needs; try again later");
  }
  if (is_one_of(unprepared)) {
    throw Error(Code::unusable,
                detail +
                    "; a connection pooler must keep a session for each connection, or "
                    "support prepared statements (pgbouncer 1.21 or newer: "
                    "max_prepared_statements = 200; older: pool_mode = session)");
  }
  // Insufficient resources, an intervention of the operator, and failures of the system.
  const bool is_temporary =
      state.starts_with("53") || state.starts_with("57") || state.starts_with("58");
  throw Error(is_temporary ? Code::unavailable : Code::unusable, detail);
}

}  // namespace comptroller::db::postgresql
