// Reads rows of tables from their pages (sqlite_format) in place of SQL.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "db/database.hpp"
#include "db/sqlite/handle.hpp"
#include "sqlite_format/sqlite_format.hpp"

namespace comptroller::db::sqlite {

// For the snapshots of one connection, one after another.
class PageReader {
 public:
  explicit PageReader(Handle& connection);
  ~PageReader();

  // From now on, it reads nothing.
  void switch_off() { is_off_ = true; }
  // Call these before a snapshot begins, and when it has ended.
  void before_begin() { before_ = sqlite_format::LastCommit::read(connection_.handle()); }
  void end() noexcept;
  // Returns the last commit, if it is known that the snapshot sees it.
  std::optional<sqlite_format::LastCommit> present_commit();

  // See Connection.
  std::optional<Query> scan(const TableScan& scan);
  std::optional<Query> rows_by_key(std::string_view table, std::string_view columns);

 private:
  class Scan;
  class Lookup;
  // Finds the rows of a table with these columns.
  struct KnownLookup {
    std::string table;
    std::string columns;
    std::unique_ptr<Lookup> rows;  // null if only SQL can evaluate the columns
  };

  bool can_read();
  bool is_in_use() const;

  Handle& connection_;
  bool is_off_ = false;
  // The last commit before the snapshot, until its pages are first read; nullopt if only SQL reads
  // them.
  std::optional<sqlite_format::LastCommit> before_;
  std::unique_ptr<sqlite_format::Snapshot> snapshot_;
  bool can_read_ = false;  // in the present snapshot
  std::unique_ptr<Scan> scan_;
  std::list<KnownLookup> lookups_;
  std::uint32_t schema_of_lookups_ = 0;
};

}  // namespace comptroller::db::sqlite
