// The errors of a server, by their code (SQLSTATE).
#pragma once

#include <string>
#include <string_view>

#include "model/error.hpp"

namespace comptroller::db::postgresql {

// Throws Lost for a connection whose server is not the one that its caches are of.
[[noreturn]] void throw_replaced();

// A lock that another write holds was not given in time.
class Locked : public Error {
 public:
  using Error::Error;
};

// Throws the Error of a failed statement: Conflict if it met another write and can be executed
// again, Lost if the server ends the connection, Locked.
[[noreturn]] void throw_failure(std::string_view state, const std::string& message);

// Returns a message of libpq as one line.
std::string one_line(std::string_view message);

}  // namespace comptroller::db::postgresql
