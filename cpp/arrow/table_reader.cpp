#include "arrow/table_reader.hpp"

#include <unistd.h>

#include <algorithm>

#include "model/error.hpp"

namespace comptroller::arrow {

namespace {

constexpr std::int64_t chunks_ahead_a_thread = 2;
constexpr std::int64_t rows_between_checks = 1024;  // of whether to stop, and of the batch's size

std::int64_t newest_key(db::Connection& connection, std::string_view table) {
  db::Query query = connection.query("SELECT max(key) FROM " + std::string(table));
  return query.step() ? query.column(0).integer : 0;
}

std::exception_ptr idleness() {
  return std::make_exception_ptr(
      Error(Code::unavailable, "the stream was idle for too long and has ended; begin another"));
}

}  // namespace

class TableReader::ChunkReader {
 public:
  ChunkReader(TableReader& reader, db::Connection& connection)
      : reader_(reader),
        connection_(connection),
        listing_(reader.source_.listing(connection)),
        batch_(reader.layout_->make_batch()) {
    reader.layout_->select(listing_);
  }

  Chunk read(std::int64_t index) {
    const std::int64_t keys = reader_.limits_.keys_a_chunk;
    db::Query query = listing_.scan(index * keys + 1, (index + 1) * keys + 1);
    Chunk chunk;
    while (reader_.layout_->append(batch_, query, connection_, rows_between_checks) ==
           rows_between_checks) {
      if (reader_.is_stopping_) break;
      if (batch_.size() >= reader_.limits_.bytes_a_batch) chunk.push_back(batch_.take());
    }
    if (batch_.length() > 0) chunk.push_back(batch_.take());
    return chunk;
  }

 private:
  TableReader& reader_;
  db::Connection& connection_;
  store::Listing listing_;
  Builder batch_;
};

class TableReader::PendingCall {
 public:
  explicit PendingCall(TableReader& reader) : reader_(reader) {
    const std::lock_guard lock(reader_.mutex_);
    const bool has_snapshot = reader_.next_to_read_ < reader_.chunk_count_;
    if (has_snapshot && Clock::now() - reader_.idle_since_ >= reader_.limits_.longest_idle) {
      reader_.fail(idleness());
    }
    if (reader_.failure_) std::rethrow_exception(reader_.failure_);
    reader_.has_pending_call_ = true;
  }
  ~PendingCall() {
    const std::lock_guard lock(reader_.mutex_);
    reader_.has_pending_call_ = false;
    reader_.idle_since_ = Clock::now();
    reader_.changed_.notify_all();
  }
  PendingCall(const PendingCall&) = delete;
  PendingCall& operator=(const PendingCall&) = delete;

 private:
  TableReader& reader_;
};

TableReader::TableReader(std::shared_ptr<const Layout> layout, RowSource source, Limits limits)
    : layout_(std::move(layout)),
      source_(std::move(source)),
      limits_(limits),
      process_(::getpid()) {}

TableReader::~TableReader() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    changed_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
}

bool TableReader::is_of_this_process() const {
  return process_ == ::getpid();
}

Array TableReader::next() {
  source_.check();
  const PendingCall call(*this);
  if (!is_begun_) {
    is_begun_ = true;
    try {
      begin();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      fail(std::current_exception());
      throw;
    }
  }
  if (ready_.empty() && !fetch()) return {};
  Array batch = std::move(ready_.front());
  ready_.pop_front();
  return batch;
}

void TableReader::begin() {
  {
    const db::Lease lease = source_.database->reader();
    const db::Snapshot snapshot(*lease);
    if (newest_key(*lease, layout_->table()) <= limits_.keys_a_chunk) {
      for (Array& batch : ChunkReader(*this, *lease).read(0)) ready_.push_back(std::move(batch));
      return;
    }
  }
  start_threads();
}

void TableReader::start_threads() {
  const std::size_t count =
      std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, limits_.most_threads);
  std::vector<db::Lease> snapshots = source_.database->readers_of_one_snapshot(count);
  {
    const std::lock_guard lock(mutex_);
    const std::int64_t newest = newest_key(*snapshots.front(), layout_->table());
    chunk_count_ = (newest + limits_.keys_a_chunk - 1) / limits_.keys_a_chunk;
    most_ahead_ = chunks_ahead_a_thread * static_cast<std::int64_t>(count);
  }
  for (db::Lease& snapshot : snapshots) {
    threads_.emplace_back([this, mine = std::move(snapshot)] { work(*mine); });
  }
}

void TableReader::work(db::Connection& connection) {
  try {
    ChunkReader reader(*this, connection);
    while (const std::optional<std::int64_t> index = take_chunk()) {
      give_chunk(*index, reader.read(*index));
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    fail(std::current_exception());
  }
}

std::optional<std::int64_t> TableReader::take_chunk() {
  std::unique_lock lock(mutex_);
  while (!is_stopping_ && !failure_ && next_to_read_ < chunk_count_) {
    if (next_to_read_ < next_to_fetch_ + most_ahead_) return next_to_read_++;
    const Clock::time_point deadline = idle_since_ + limits_.longest_idle;
    if (has_pending_call_) {
      changed_.wait(lock);
    } else if (Clock::now() < deadline) {
      changed_.wait_until(lock, deadline);
    } else {
      fail(idleness());
    }
  }
  return std::nullopt;
}

void TableReader::give_chunk(std::int64_t index, Chunk chunk) {
  const std::lock_guard lock(mutex_);
  chunks_.emplace(index, std::move(chunk));
  changed_.notify_all();
}

bool TableReader::fetch() {
  std::unique_lock lock(mutex_);
  while (ready_.empty()) {
    if (next_to_fetch_ == chunk_count_) return false;
    changed_.wait(lock, [&] { return failure_ != nullptr || chunks_.contains(next_to_fetch_); });
    if (failure_) std::rethrow_exception(failure_);
    auto chunk = chunks_.extract(next_to_fetch_++);
    for (Array& batch : chunk.mapped()) ready_.push_back(std::move(batch));
    changed_.notify_all();
  }
  return true;
}

void TableReader::fail(std::exception_ptr failure) {
  if (!failure_) failure_ = std::move(failure);
  chunks_.clear();
  changed_.notify_all();
}

}  // namespace comptroller::arrow
