// Connects to the first server of an address that answers and accepts the program.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "db/interrupt.hpp"
#include "db/postgresql/libpq.hpp"

namespace comptroller::db::postgresql {

// Each host of the address has the time of its parameter connect_timeout, else 5 s, or 10 s if
// there is only one. One that does not answer in this time is left out; if its name has several
// addresses, each has this time. Throws unavailable if no server can be reached, else unusable. No
// message shows a password.
PGconn* connect(const std::string& address, bool is_read_only, const Interrupt& interrupt);

// The names and values of the parameters of a connection, from the address, the environment and its
// files. Empty ones are left out.
using ConnectionParameters = std::vector<std::pair<std::string, std::string>>;
ConnectionParameters parameters_of(PGconn* connection);

// Waits until a socket is ready, for at most check_interval.
bool is_ready(int socket, bool for_writing);

}  // namespace comptroller::db::postgresql
