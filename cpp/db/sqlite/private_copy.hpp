// A bulk write that fills an empty table in a private copy of the database. The copy becomes the
// database by one backup, which is one transaction of the log.
#pragma once

#include <memory>
#include <string>

#include "db/sqlite/connection.hpp"
#include "db/sqlite/open_file.hpp"
#include "db/sqlite/table_filler.hpp"

namespace comptroller::db::sqlite {

// The copy has no name while it is in use, so it disappears with the process. The caller holds the
// write lock while it makes and adopts the copy. For one thread at a time.
class PrivateCopy {
 public:
  ~PrivateCopy();

  // Returns nullptr if statements are better or necessary: the input is small, the table has rows,
  // the database is larger than the input, or the file or the table is not supported. `live` must
  // not be in a transaction.
  static std::unique_ptr<PrivateCopy> make(SqliteConnection& live, const Filling& filling);

  // The connection to the copy, inside a transaction. Until `finish`, it passes the new rows of the
  // table to a builder.
  SqliteConnection& connection() { return *connection_; }
  // Whether the database has not been written since the copy was made.
  bool is_current() { return watch_->read_number("PRAGMA data_version") == version_; }
  // Takes the new symbols and the rows of another copy of the database, which was made earlier and
  // is not used further. Returns false if it cannot.
  bool take_rows(PrivateCopy& before);
  // Writes the b-trees of the table. Does nothing if they were written.
  void finish();
  // Verifies the copy and makes it the content of the database that `live` writes. Returns the
  // number of frames that are then in the log; if that is unknown, of this write. Throws, and
  // leaves the database unchanged, if the verification fails, `file` lost its place, or another
  // program wrote to the database.
  int adopt(SqliteConnection& live, const OpenFile& file);

 private:
  std::optional<int> empty_log(SqliteConnection& target) noexcept;
  explicit PrivateCopy(std::string path) : path_(std::move(path)) {}
  bool open();
  bool copy(SqliteConnection& live);
  bool begin(std::string_view table);
  void verify();

  std::string path_;    // of the database
  std::string folder_;  // for temporary files
  int descriptor_ = -1;
  std::unique_ptr<SqliteConnection> connection_;
  std::unique_ptr<SqliteConnection> verifier_;
  std::unique_ptr<SqliteConnection> source_;  // of the backup
  std::unique_ptr<SqliteConnection> watch_;   // reads the database
  std::int64_t version_ = 0;                  // of the database when the copy was made
  std::unique_ptr<TableFiller> filler_;
  bool is_built_ = false;
};

}  // namespace comptroller::db::sqlite
