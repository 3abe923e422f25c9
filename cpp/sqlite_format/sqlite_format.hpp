// Reads and writes tables in SQLite's file format, without SQL (README.md lists what it relies on).
//
// The caller opens the connections and runs the transactions. What this library does not support,
// it declines: the caller then uses SQL.
#pragma once

#include <sqlite3.h>

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

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

// The columns of a table with an INTEGER PRIMARY KEY, and the root page of its b-tree.
struct Table {
  // `none` also for ANY of a STRICT table.
  enum class Affinity : std::uint8_t { none, integer, text, other };
  struct Column {
    std::string name;
    Affinity affinity = Affinity::none;
    bool is_required = false;
    bool has_default = false;  // records written before the column do not contain it

    friend bool operator==(const Column&, const Column&) = default;
  };
  std::string name;
  std::vector<Column> columns;
  std::size_t key = 0;  // the column that is the key
  std::uint32_t root = 0;

  // Returns nullopt if the table does not exist, has a generated column, or has no INTEGER PRIMARY
  // KEY.
  static std::optional<Table> read(sqlite3* connection, std::string_view name);
  // Returns the position of a column; nullopt for an unknown column and for one with a default.
  std::optional<std::size_t> find(std::string_view column) const;
};

// The header of the wal-index (WalIndexHdr), which describes the last commit. If it is equal before
// a transaction begins and after its first read, the transaction sees this commit.
struct WalIndexHeader {
  std::uint32_t version = 0;
  std::uint32_t unused = 0;
  std::uint32_t change_counter = 0;
  std::uint8_t is_initialised = 0;
  std::uint8_t has_big_endian_checksums = 0;
  std::uint16_t page_size = 0;  // 1: 65536
  std::uint32_t max_frame = 0;  // mxFrame: the frames up to this commit; 0: the WAL is not needed
  std::uint32_t pages = 0;
  std::array<std::uint32_t, 2> frame_checksum{};
  std::array<char, 8> salts{};  // differ each time the WAL begins again
  std::array<std::uint32_t, 2> checksum{};

  std::size_t bytes_per_page() const { return page_size == 1 ? 65536 : page_size; }
  std::size_t bytes_per_frame() const;  // in the WAL
  friend bool operator==(const WalIndexHeader&, const WalIndexHeader&) = default;

  // Returns nullopt if the connection has not opened a WAL, or the wal-index has an unknown version
  // or is being written.
  static std::optional<WalIndexHeader> read(sqlite3* connection);
};
// Returns nBackfill, the number of frames that a checkpoint has written to the file; nullopt if the
// connection has no WAL.
std::optional<std::uint32_t> count_backfilled(sqlite3* connection);
// Whether the connection has opened a WAL. The first read opens it.
bool has_wal(sqlite3* connection);
// Whether the header of the connection's file says that the file has a WAL.
bool is_wal_file(sqlite3* connection);

class Pages;

// The pages that the read transactions of one connection see, one transaction after another. For
// one thread at a time, like Scan and Lookup.
class Snapshot {
 public:
  explicit Snapshot(sqlite3* connection);
  ~Snapshot();

  // Begins to read in the transaction of the connection, whose first statement has run. `before` is
  // the wal-index header before the transaction began. Returns false if another commit followed, or
  // the file is not supported: reserved bytes, auto_vacuum, an encoding other than UTF-8.
  bool follow(const WalIndexHeader& before);
  // Returns a table of the schema that the transaction sees, valid until the schema changes; null
  // if Table::read returns nullopt.
  const Table* table(std::string_view name);
  // The schema cookie that the transaction sees. Scans and lookups are not valid after a change.
  std::uint32_t schema_version() const;

 private:
  friend class Scan;
  friend class Lookup;

  sqlite3* connection_;
  std::unique_ptr<Pages> pages_;
  std::map<std::string, std::optional<Table>, std::less<>> tables_;
  std::uint32_t schema_of_tables_ = 0;
};

// In a list of positions of columns: the value is NULL.
inline constexpr std::size_t always_null = std::numeric_limits<std::size_t>::max();

// Reads the rows of a table whose keys are in [first, last], in order of key. Must not outlive the
// snapshot's transaction.
class Scan {
 public:
  // The maximum number of rows that a call of `next` returns; their values fit in the first cache.
  static constexpr std::size_t max_rows = 16;

  // `columns` are positions in the table. `check` is called once for each leaf; it may throw.
  Scan(Snapshot& snapshot, const Table& table, std::span<const std::size_t> columns,
       std::int64_t first, std::int64_t last, std::function<void()> check);
  ~Scan();
  Scan(Scan&&) noexcept;

  // Reads up to `max` rows; returns their number, 0 only after the last row.
  std::size_t next(std::size_t max);
  // The values of the rows of the last `next`, which are valid until the next one.
  const Value* row(std::size_t row) const;
  std::int64_t key(std::size_t row) const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

// Finds rows of a table by key, in one transaction after another while the schema does not change.
class Lookup {
 public:
  Lookup(Snapshot& snapshot, const Table& table, std::span<const std::size_t> columns);
  ~Lookup();
  Lookup(Lookup&&) noexcept;

  // Returns the values of the row, valid until the next read of the snapshot; null if there is
  // none.
  const Value* find(std::int64_t key);

 private:
  class State;
  std::unique_ptr<State> state_;
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

  virtual const Table& table() const = 0;
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

// Whether builders can write the file: pages of 4 KiB without reserved bytes, UTF-8, no
// auto_vacuum. If so, makes it a file without a WAL.
bool prepare_to_build(int descriptor);

// Returns the name of a VFS (https://sqlite.org/vfs.html) for passing through a whole database, for
// sqlite3_open_v2. It reads and writes many pages at once.
//
// It reads ahead in databases and logs, in both directions, and gathers the writes to a log. A
// connection uses the bytes that it read ahead until it writes the file or changes a lock; a
// connection without locks must read the file only after its last change. Gathered bytes are
// written before the log is read, synchronised, truncated or closed, and before a lock changes. If
// they cannot be written, every later read, write and synchronisation of the log fails. So a
// transaction that synchronises the log (synchronous = FULL) does not commit without all its pages.
// Writes to a database are gathered only by a checkpoint of one transaction of the connection that
// made the database larger.
const char* buffered_files();

}  // namespace sqlite_format
