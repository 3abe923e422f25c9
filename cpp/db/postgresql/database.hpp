// Opens a PostgreSQL database as a Database.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "db/database.hpp"

namespace comptroller::db::postgresql {

struct OpenOptions {
  bool read_only = false;
  // Called every 100 ms by a thread that waits for the server or for others. An exception cancels
  // the statement, and is thrown to the caller. A commit is not canceled.
  std::function<void()> check_interrupt = {};
  // The limit for a write's wait for a connection, and for each of its waits for a lock.
  std::chrono::milliseconds max_wait = std::chrono::seconds(30);
};

// Whether a text is the address of a PostgreSQL database: postgresql:// or postgres://.
bool is_address(std::string_view text);

// Connects to the database, and migrates the store to the newest schema. An address is a URI of
// libpq. Throws unavailable if the server or libpq cannot be reached, and unusable if the database
// is not a store.
std::unique_ptr<Database> open(const std::string& address, const OpenOptions& options);

}  // namespace comptroller::db::postgresql
