// The PostgreSQL server whose address is COMPTROLLER_TEST_POSTGRESQL, and databases on it. A test
// that needs it is skipped without it. If COMPTROLLER_TEST_ENGINE is "postgresql", tests that run
// on any engine use it, too.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "db/postgresql/database.hpp"
#include "db/postgresql/session.hpp"

namespace comptroller::db::postgresql {

// Returns the address of a database in which others can be created; nullopt without a server. Then
// prints that the test is skipped.
std::optional<std::string> server_address();

// An empty database, or a copy of another, which is dropped at the end. Its connections, and those
// of the other one when it is copied, must have ended then.
class TestDatabase {
 public:
  explicit TestDatabase(const TestDatabase* copied = nullptr);
  ~TestDatabase();
  TestDatabase(const TestDatabase&) = delete;
  TestDatabase& operator=(const TestDatabase&) = delete;

  const std::string& address() const { return address_; }
  std::unique_ptr<Database> open(OpenOptions options = {}) const {
    return postgresql::open(address_, options);
  }
  // A connection beside those of the store.
  std::unique_ptr<Session> connect() const;

 private:
  std::string name_;
  std::string address_;
};

}  // namespace comptroller::db::postgresql
