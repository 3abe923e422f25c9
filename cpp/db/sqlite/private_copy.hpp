// A bulk write that fills an empty table in a private copy of the database. The copy becomes the
// database by one backup, which is one transaction of the log.
#pragma once

#include <memory>
#include <string>

#include "db/sqlite/connection.hpp"
#include "db/sqlite/lock_file.hpp"
#include "db/sqlite/table_filler.hpp"

namespace comptroller::db::sqlite {

// The name beside the database that the copy has for a moment, until it is opened.
inline constexpr const char* private_copy_suffix = "-filling";

// The copy has no name while it is in use, so nothing of it outlives the process. Its maker holds
// the write lock as long as it lives. For one thread at a time.
class PrivateCopy final : public FillTarget {
 public:
  ~PrivateCopy() override;
  PrivateCopy(const PrivateCopy&) = delete;
  PrivateCopy& operator=(const PrivateCopy&) = delete;

  // nullptr if statements are the better or the only way: a table that has rows, a database larger
  // than what is to be loaded, an unusual file, or COMPTROLLER_LOAD_BY_STATEMENTS=1 in the
  // environment. `live` is in no transaction.
  static std::unique_ptr<PrivateCopy> make(SqliteConnection& live, const Filling& filling);

  // Inside a transaction. begin_filling makes it fill the table by its trees.
  SqliteConnection& connection() { return *connection_; }
  // Verifies the copy and makes it the content of the database that `live` writes. Throws, and
  // leaves the database as it is, if it fails the verification or another program wrote meanwhile.
  void adopt(SqliteConnection& live, LockFile& commit_lock, std::chrono::milliseconds longest_wait);
  // How many pages the database has since.
  int pages() const { return pages_; }

  std::unique_ptr<TableFiller> start(SqliteConnection& connection, std::string_view table) override;
  void finish(SqliteConnection& connection, std::unique_ptr<TableFiller> filler) override;

 private:
  explicit PrivateCopy(std::string path) : path_(std::move(path)) {}
  bool open();
  bool copy(SqliteConnection& live);
  bool is_usual() const;
  PageNumber page_count() const;
  void set_page_count(PageNumber pages) const;
  void verify();
  void verify_counts();
  void verify_order();

  std::string path_;    // of the database
  std::string folder_;  // for temporary files
  int descriptor_ = -1;
  std::unique_ptr<SqliteConnection> connection_;
  std::unique_ptr<SqliteConnection> verifier_;
  std::unique_ptr<SqliteConnection> watch_;  // reads the database
  std::int64_t version_ = 0;                 // of the database when the copy was made
  std::unique_ptr<TableFiller> filled_;
  int pages_ = 0;
};

}  // namespace comptroller::db::sqlite
