#include "db/sqlite/connection.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <thread>
#include <utility>

#include "db/select_list.hpp"
#include "db/sqlite/private_copy.hpp"
#include "db/sqlite/schema.hpp"
#include "db/sqlite/table_filler.hpp"
#include "model/error.hpp"

namespace comptroller::db::sqlite {

namespace {

// A page takes thousands of operations of SQLite's virtual machine, about 20 ns each.
constexpr int operations_between_callbacks = 1000;
// The maximum wait for a lock of a program that does not use our lock files.
constexpr std::chrono::seconds max_busy{5};
constexpr int max_busy_pause_ms = 25;

constexpr std::size_t max_lookups = 32;

constexpr const char* busy = "another program holds the store; try again";
constexpr const char* unwritable =
    "the store cannot be written; check the permissions of its file and folder";
struct Reason {
  int result;
  Code code;
  const char* text;
};
constexpr Reason reasons[]{
    {SQLITE_FULL, Code::unavailable, "the disk is full; free some space and try again"},
    {SQLITE_IOERR, Code::unavailable, "the disk reported an I/O error"},
    {SQLITE_NOMEM, Code::unavailable, "out of memory"},
    {SQLITE_READONLY, Code::unusable, unwritable},
    {SQLITE_PERM, Code::unusable, unwritable},
    {SQLITE_CANTOPEN, Code::unusable,
     "the store cannot be opened; check that its folder exists and may be written"},
    {SQLITE_CORRUPT, Code::unusable, "the store is damaged; restore a backup"},
    {SQLITE_NOTADB, Code::unusable, "the file is not a comptroller store"},
    {SQLITE_BUSY, Code::unavailable, busy},
    {SQLITE_LOCKED, Code::unavailable, busy},
    {SQLITE_INTERRUPT, Code::unavailable, "interrupted"}};

// Returns a message of SQLite, which may quote bytes of a damaged file.
std::string printable(std::string_view message) {
  constexpr std::size_t max_length = 100;
  std::string text(message.substr(0, max_length));
  std::ranges::replace_if(text, [](char each) { return each < ' ' || each > '~'; }, '?');
  return text;
}

// The statements of this program are valid for its schema and what it stores, so the content of the
// file is not what it stored: a column or a table is missing, a unique value exists twice.
constexpr int failures_of_content[]{SQLITE_ERROR,      SQLITE_SCHEMA,   SQLITE_TOOBIG,
                                    SQLITE_CONSTRAINT, SQLITE_MISMATCH, SQLITE_FORMAT};

std::string uri_of(const std::string& path, const char* option) {
  // SQLite takes all other characters literally.
  constexpr std::array<std::pair<char, const char*>, 3> reserved{
      {{'%', "%25"}, {'?', "%3F"}, {'#', "%23"}}};
  std::string uri = "file:";
  for (const char character : path) {
    const auto* const found =
        std::ranges::find(reserved, character, &std::pair<char, const char*>::first);
    uri += found == reserved.end() ? std::string(1, character) : found->second;
  }
  return uri + option;
}

}  // namespace

void throw_failure(int result) {
  for (const auto& [known, code, text] : reasons) {
    if (known == (result & 0xFF)) throw Error(code, text);
  }
  throw Error(Code::internal, "the store failed with SQLite result " + std::to_string(result));
}

void SqliteConnection::fail(int result) {
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  check_state();
  if (std::ranges::find(failures_of_content, result & 0xFF) != std::end(failures_of_content)) {
    throw Error::damaged(printable(sqlite3_errmsg(handle())) + "; restore a backup");
  }
  throw_failure(result);
}

void SqliteConnection::compare_state() const {
  if (state_ == FileState::of(path_)) return;
  throw Error(Code::unavailable,
              "the store was written during the read, and this user may not lock it; try again, or "
              "let the user write to the store and its folder");
}

std::string immutable_uri(const std::string& path) {
  return uri_of(path, "?immutable=1");
}

std::string private_uri(const std::string& path) {
  return uri_of(path, "?nolock=1");
}

SqliteConnection::SqliteConnection(const std::string& path, int flags, const char* vfs) {
  sqlite3* handle = nullptr;
  const int result = sqlite3_open_v2(path.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, vfs);
  handle_.reset(handle);
  check(result);
  check(sqlite3_extended_result_codes(handle, 1));
  check(sqlite3_busy_handler(handle, &on_busy, this));
  sqlite3_progress_handler(handle, operations_between_callbacks, &on_progress, this);
  pages_ = std::make_unique<Pages>(handle);
}

SqliteConnection::~SqliteConnection() = default;

void SqliteConnection::execute(const std::string& sql) {
  check(sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr));
}

std::optional<int> SqliteConnection::truncate_log() noexcept {
  sqlite3_busy_handler(handle(), nullptr, nullptr);
  int frames = -1;
  sqlite3_wal_checkpoint_v2(handle(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, &frames, nullptr);
  sqlite3_busy_handler(handle(), &on_busy, this);
  return frames < 0 ? std::nullopt : std::optional(frames);
}

int SqliteConnection::on_progress(void* connection) noexcept {
  auto& self = *static_cast<SqliteConnection*>(connection);
  try {
    self.check_interrupt();
    return 0;
  } catch (...) {
    self.thrown_ = std::current_exception();
    return 1;
  }
}

int SqliteConnection::on_busy(void* connection, int count) noexcept {
  auto& self = *static_cast<SqliteConnection*>(connection);
  if (count == 0) self.busy_until_ = std::min(Clock::now() + max_busy, self.deadline_);
  if (Clock::now() >= self.busy_until_ || on_progress(connection) != 0) return 0;
  std::this_thread::sleep_for(std::chrono::milliseconds(std::min(count + 1, max_busy_pause_ms)));
  return 1;
}

void SqliteConnection::check_interrupt() {
  if (interrupt_ == nullptr) return;
  const auto now = Clock::now();
  // The callback may wait for other threads, so a new statement is not interrupted at once. A
  // sequence of short statements counts as one long statement.
  const bool has_just_begun = queries_ != checked_queries_ && now - called_ >= check_interval;
  checked_queries_ = queries_;
  called_ = now;
  if (has_just_begun) checked_ = now;
  interrupt_->check_open();
  if (now >= deadline_) {
    throw Error(Code::unavailable, "the write took too long and was undone; try again later");
  }
  if (now - checked_ < check_interval) return;
  checked_ = now;
  interrupt_->check();
}

void SqliteConnection::begin_snapshot() {
  if (!has_log()) read_now();
  before_snapshot_ = LastCommit::of(handle());
  query("BEGIN").run();
  read_now();
  is_in_snapshot_ = true;
}

void SqliteConnection::forget_snapshot() noexcept {
  is_in_snapshot_ = false;
  before_snapshot_.reset();
  has_pages_ = false;
}

void SqliteConnection::end_snapshot() noexcept {
  forget_snapshot();
  // A COMMIT that succeeded must not be reported as interrupted.
  const Interrupt* const interrupt = std::exchange(interrupt_, nullptr);
  try {
    query("COMMIT").run();
  } catch (const std::exception&) {  // the transaction only read
    roll_back();
  }
  interrupt_ = interrupt;
}

void SqliteConnection::roll_back() noexcept {
  forget_snapshot();
  dropped_indexes_.clear();
  filler_.reset();
  if (in_transaction()) sqlite3_exec(handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

std::int64_t SqliteConnection::read_number(std::string_view sql) {
  Query row = query(sql);
  return row.step() ? row.column(0).integer : 0;
}

// A restore (sqlite3_backup, VACUUM INTO and the like are ordinary transactions) always changes the
// schema's version in the file.
void SqliteConnection::read_now() {
  const std::int64_t content = read_number("PRAGMA schema_version");
  if (content == content_) return;
  symbols().forget();
  if (requires_store_) require_newest_schema(*this);
  content_ = content;
}

std::optional<LastCommit> SqliteConnection::begin_present_snapshot() {
  begin_snapshot();
  const std::optional<LastCommit> before = before_snapshot_;
  has_pages();  // while its commit is the last one
  return before && before == LastCommit::of(handle()) ? before : std::nullopt;
}

// Whether the pages of the snapshot can be read.
bool SqliteConnection::has_pages() {
  if (const auto before = std::exchange(before_snapshot_, std::nullopt)) {
    has_pages_ = reads_pages_ && pages_->follow(*before);
  }
  return has_pages_;
}

// Whether a query reads pages, which must stay in memory while its values are in use.
bool SqliteConnection::are_pages_in_use() const {
  const auto is_in_use = [](const auto& each) { return each.rows && each.rows->is_in_use(); };
  return (page_scan_ && page_scan_->is_in_use()) || std::ranges::any_of(lookups_, is_in_use);
}

std::optional<Query> SqliteConnection::scan(const TableScan& scan) {
  if (!has_pages() || are_pages_in_use()) return std::nullopt;
  auto made = PageScan::make(*this, *pages_, scan);
  if (!made) return std::nullopt;
  return Query(page_scan_.emplace(std::move(*made)));
}

std::optional<Query> SqliteConnection::rows_by_key(std::string_view table,
                                                   std::string_view columns) {
  if (!has_pages() || are_pages_in_use()) return std::nullopt;
  if (schema_of_lookups_ != pages_->schema_version() || lookups_.size() == max_lookups) {
    lookups_.clear();
    schema_of_lookups_ = pages_->schema_version();
  }
  auto found = std::ranges::find_if(
      lookups_, [&](const auto& each) { return each.columns == columns && each.table == table; });
  if (found == lookups_.end()) {
    auto record = RecordReader::make(*this, *pages_, table, split_select_list(columns));
    found = lookups_.insert(found, {std::string(table), std::string(columns), std::nullopt});
    if (record) found->rows.emplace(*pages_, std::move(*record));
  }
  if (!found->rows) return std::nullopt;
  found->rows->use();
  return Query(*found->rows);
}

// SQLite prefers another index, or the whole table, after an ANALYZE that ran while the table was
// small.
std::string_view SqliteConnection::index_hint(std::string_view table, std::string_view columns,
                                              std::string_view condition) {
  const std::int64_t schema = is_in_snapshot_ ? content() : read_number("PRAGMA schema_version");
  if (std::exchange(schema_of_index_hints_, schema) != schema) index_hints_.clear();
  const auto found = std::ranges::find_if(index_hints_, [&](const IndexHint& each) {
    return each.columns == columns && each.table == table && each.condition == condition;
  });
  if (found != index_hints_.end()) return found->hint;
  std::string definition = "(" + std::string(columns) + ")";
  if (!condition.empty()) definition.append(" WHERE ").append(condition);
  IndexHint& made = index_hints_.emplace_back(
      IndexHint{std::string(table), std::string(columns), std::string(condition), {}});
  Query index = query(
      // The index of a UNIQUE constraint has no SQL.
      "WITH known AS (SELECT name, coalesce(replace(replace(sql, char(10), ''), ' ', ''),"
      " (SELECT '(' || group_concat(name) || ')' FROM pragma_index_info(each.name))) AS text"
      " FROM sqlite_schema AS each WHERE type = 'index' AND tbl_name = ?1) SELECT name FROM known"
      " WHERE substr(text, instr(text, '(')) = replace(?2, ' ', '')");
  if (index.bind(1, table).bind(2, definition).step()) {
    made.hint.append(" INDEXED BY ").append(index.column(0).bytes);
  }
  return made.hint;
}

std::vector<Insertion> SqliteConnection::insert_new(const InsertStatement& statement,
                                                    std::size_t rows, const BindRow& bind) {
  if (filler_ && filler_->fills(statement.table)) return filler_->insert(statement, rows, bind);
  return Connection::insert_new(statement, rows, bind);
}

// Fills an empty table of a private copy by writing its b-trees. Otherwise the indexes are built
// after the table is filled, which is faster than updating them row by row.
void SqliteConnection::begin_filling(std::string_view table) {
  if (private_copy_ != nullptr) filler_ = private_copy_->start(table);
  if (filler_) return;
  if (query("SELECT 1 FROM " + std::string(table) + " LIMIT 1").step()) return;
  std::string drops;
  {
    // Indexes without SQL belong to UNIQUE constraints of the table, by which records are found.
    Query indexes = query(
        "SELECT group_concat('DROP INDEX ' || name, ';'), group_concat(sql, ';') FROM sqlite_schema"
        " WHERE type = 'index' AND tbl_name = $table AND sql IS NOT NULL");
    indexes.bind("$table", table).step();
    drops = indexes.column(0).bytes;
    dropped_indexes_.append(indexes.column(1).bytes).append(";");
  }
  execute(drops);
}

bool SqliteConnection::continue_filling(Connection& prepared) {
  TableFiller* const before = static_cast<SqliteConnection&>(prepared).filler_.get();
  if (private_copy_ == nullptr || before == nullptr) return false;
  filler_ = private_copy_->start(before->table());
  return filler_ && filler_->take_rows(*before);
}

void SqliteConnection::end_filling() {
  if (filler_) return private_copy_->finish(std::move(filler_));
  if (dropped_indexes_.empty()) return;
  // A small sorter often hands its rows to another thread. A sorter as large as the cache would
  // sort at the end, on one thread.
  const std::string cache =
      "PRAGMA cache_size = " + std::to_string(read_number("PRAGMA cache_size"));
  const auto restore = [&](SqliteConnection* connection) {
    sqlite3_exec(connection->handle(), cache.c_str(), nullptr, nullptr, nullptr);
  };
  const std::unique_ptr<SqliteConnection, decltype(restore)> restored(this, restore);
  execute("PRAGMA cache_size = -8192");
  execute(dropped_indexes_);
  dropped_indexes_.clear();
}

}  // namespace comptroller::db::sqlite
