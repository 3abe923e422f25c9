// Reads and writes tables in SQLite's file format, without SQL (README.md lists what it relies on).
//
// The caller opens the connections and runs the transactions. What this library does not support,
// it declines: the caller then uses SQL.
#pragma once

#include <sqlite3.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace sqlite_format {

// A failure with SQLite's result code: SQLITE_CORRUPT if a page or a record is not as SQLite writes
// it, SQLITE_PROTOCOL if the WAL cannot be read, SQLITE_IOERR, or the result of a statement that
// reads the schema.
class Failure : public std::runtime_error {
 public:
  Failure(int result, const std::string& what) : std::runtime_error(what), result_(result) {}
  int result() const { return result_; }

 private:
  int result_;
};

// A value of a row. It does not own its bytes.
struct Value {
  enum class Type : std::uint8_t { null, integer, text, blob, real };

  Type type = Type::null;
  std::int64_t integer = 0;
  std::string_view bytes;

  static Value of(std::int64_t number) { return {Type::integer, number, {}}; }
  static Value of(std::string_view text) { return {Type::text, 0, text}; }
  static Value blob(std::string_view bytes) { return {Type::blob, 0, bytes}; }
  bool is_null() const { return type == Type::null; }
  friend bool operator==(const Value&, const Value&) = default;
};

// The last commit, as the wal-index describes it. If it is equal before a transaction begins and
// after its first read, the transaction sees this commit.
struct LastCommit {
  std::array<std::uint32_t, 12> header{};  // WalIndexHdr

  std::uint32_t frames() const;         // mxFrame: the frames of the WAL up to this commit
  std::size_t bytes_per_frame() const;  // in the WAL
  friend bool operator==(const LastCommit&, const LastCommit&) = default;

  // Returns nullopt if the connection has not opened a WAL, or the wal-index has an unknown version
  // or is being written.
  static std::optional<LastCommit> read(sqlite3* connection);
};
// Returns nBackfill, the number of frames that a checkpoint has written to the file; nullopt if the
// connection has no WAL.
std::optional<std::uint32_t> count_backfilled(sqlite3* connection);
// Whether the connection has opened a WAL. The first read opens it.
bool has_wal(sqlite3* connection);
// Whether the header of the connection's file says that the file has a WAL.
bool is_wal_file(sqlite3* connection);

// Reads the rows of a table whose keys are in a range, in order of key. Must not outlive the
// snapshot's transaction.
class Scan {
 public:
  // The maximum number of rows that a call of `next` returns; their values fit in the first cache.
  static constexpr std::size_t max_rows = 16;

  virtual ~Scan() = default;
  // Reads up to `max` rows; returns their number, 0 only after the last row.
  virtual std::size_t next(std::size_t max) = 0;
  // The values of the rows of the last `next`, which are valid until the next one.
  virtual const Value* row(std::size_t row) const = 0;
  virtual std::int64_t key(std::size_t row) const = 0;
};

// Finds rows of a table by key, in one transaction after another while the schema does not change.
class Lookup {
 public:
  virtual ~Lookup() = default;
  // Returns the values of the row, valid until the next read of the snapshot; null if there is
  // none.
  virtual const Value* find(std::int64_t key) = 0;
};

// The pages that the read transactions of one connection see, one transaction after another. For
// one thread at a time, like its scans and lookups, which it must outlive.
class Snapshot {
 public:
  static std::unique_ptr<Snapshot> make(sqlite3* connection);
  virtual ~Snapshot() = default;

  // Begins to read in the transaction of the connection, whose first statement has run. `before` is
  // the last commit before the transaction began. Returns false if another commit followed, or the
  // file is not supported.
  virtual bool follow(const LastCommit& before) = 0;
  // The schema cookie that the transaction sees. Scans and lookups are not valid after a change.
  virtual std::uint32_t schema_version() const = 0;

  // Both return null if the table is not supported, or a column is unknown or has a default. A
  // column without a name is always NULL.
  //
  // `scan` reads the keys in [first, last]. It calls `check` once for each leaf, which may throw.
  using Columns = std::span<const std::string_view>;
  virtual std::unique_ptr<Scan> scan(std::string_view table, Columns columns, std::int64_t first,
                                     std::int64_t last, std::function<void()> check) = 0;
  virtual std::unique_ptr<Lookup> lookup(std::string_view table, Columns columns) = 0;
};

// Fills an empty table of a file that no other connection writes: takes rows, which get the keys 1,
// 2, 3, ..., and writes the b-trees of the table and of its indexes. Keeps rows and index keys in
// temporary files meanwhile. Failures of files are std::system_error. For one thread at a time.
class Builder {
 public:
  // Returns null if the table has rows, or a feature that only INSERT supports, such as a trigger
  // or an index on an expression. `make_file` returns the descriptor of an empty temporary file,
  // which the builder closes; any thread may call it.
  static std::unique_ptr<Builder> make(sqlite3* connection, std::string_view table,
                                       std::function<int()> make_file);
  virtual ~Builder() = default;

  // The number of columns, and the position of one in a row; nullopt if it is unknown.
  virtual std::size_t columns() const = 0;
  virtual std::optional<std::size_t> find(std::string_view column) const = 0;
  // Takes a row: a value for each column, NULL for the key. Returns false if it does not take the
  // row, because its unique value may be that of an earlier row, or SQLite would convert or reject
  // a value; it can be inserted after `write`.
  virtual bool add(std::span<const Value> row) = 0;
  // Takes all rows of a builder of the same table in another copy of the file, which gets no more
  // rows. Returns false if the tables differ.
  virtual bool take_rows(Builder& other) = 0;
  // Writes all b-trees into new pages, two at a time; their roots replace the empty roots. No
  // transaction may be open. The caller's thread calls `check` regularly, which may throw.
  virtual void write(int descriptor, const std::function<void()>& check) = 0;
  // Throws Failure unless SQLite finds every page sound, every index has an entry for each of its
  // rows, and it finds a sample of rows, which shows that its order is SQLite's.
  virtual void verify(sqlite3* connection) const = 0;
};

// Returns the result of the failed read that a finding of an integrity check reports; SQLITE_OK if
// the finding is about the content of the database.
int failed_read_of(std::string_view finding);

// Whether builders can write the file. If so, makes it a file without a WAL.
bool prepare_to_build(int descriptor);

// Returns the name of a VFS (https://sqlite.org/vfs.html) for passing through a whole database, for
// sqlite3_open_v2. It reads ahead, and gathers writes; a transaction that synchronises the WAL
// (synchronous = FULL) does not commit without all its pages. A connection without locks must read
// the file only after its last change.
const char* buffered_files();

}  // namespace sqlite_format
