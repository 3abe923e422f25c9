// A write transaction of a test.
#pragma once

#include "store/changes.hpp"

namespace comptroller::store {

class Writing {
 public:
  explicit Writing(db::Connection& connection)
      : changes_(connection, {Timestamp{0}, "test", "test"}, tree_) {}

  operator Changes&() { return changes_; }  // NOLINT: for arguments

 private:
  JournalTreeCache tree_;
  Changes changes_;
};

}  // namespace comptroller::store
