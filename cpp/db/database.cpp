#include "db/database.hpp"

#include <exception>

namespace comptroller::db {

Snapshot::Snapshot(Connection& connection) : connection_(connection) {
  connection_.query("BEGIN").run();
}

Snapshot::~Snapshot() {
  try {
    connection_.query("COMMIT").run();
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): a read has nothing to lose
  }
}

}  // namespace comptroller::db
