#include "arrow/table_reader.hpp"

#include <unistd.h>

#include <algorithm>

#include "db/interrupt.hpp"
#include "model/error.hpp"

namespace comptroller::arrow {

namespace {

constexpr std::int64_t chunks_ahead_per_thread = 2;
constexpr std::int64_t rows_between_checks =
    1024;  // checks of whether to stop, and of the size of the batch

std::exception_ptr idleness() {
  return std::make_exception_ptr(Error(
      Code::unavailable, "the stream was idle for too long and has ended; open another stream"));
}

}  // namespace

TableReader::TableReader(Table table) : table_(std::move(table)), process_(::getpid()) {}

bool TableReader::is_of_this_process() const {
  return process_ == ::getpid();
}

Array TableReader::next() {
  table_.source.check();
  std::unique_lock lock(mutex_);
  const bool has_snapshot = keys_to_read_.has_value();
  const auto now = Clock::now();
  if (!failure_ && has_snapshot && now - idle_since_.value_or(now) >= table_.limits.max_idle_time) {
    fail(idleness());
  }
  if (failure_) std::rethrow_exception(failure_);
  idle_since_.reset();
  try {
    if (!is_begun_) begin(lock);
    if (failure_) std::rethrow_exception(failure_);
    while (ready_.empty() && (keys_to_read_ || next_to_fetch_ < next_to_read_)) {
      changed_.wait(lock, [&] { return failure_ || chunks_.contains(next_to_fetch_); });
      if (failure_) std::rethrow_exception(failure_);
      ready_ = std::move(chunks_.extract(next_to_fetch_++).mapped());
      changed_.notify_all();
    }
  } catch (...) {
    fail(std::current_exception());
    throw;
  }
  idle_since_ = Clock::now();
  changed_.notify_all();
  if (ready_.empty()) return {};
  Array batch = std::move(ready_.front());
  ready_.pop_front();
  return batch;
}

void TableReader::begin(std::unique_lock<std::mutex>& lock) {
  is_begun_ = true;
  const Limits& limits = table_.limits;
  // Finds the first chunk; returns whether there is no other.
  const auto is_small = [&](db::Connection& connection) {
    const store::Listing listing = table_.source.listing(connection);
    keys_to_read_ = listing.first_keys(limits.keys_per_chunk);
    return !keys_to_read_ || !listing.keys_after(keys_to_read_->last, limits.keys_per_chunk);
  };
  const auto is_small_now = [&] {
    const db::Lease connection = table_.source.database->reader();
    const db::Snapshot snapshot(*connection);
    return is_small(*connection);
  };
  const std::size_t count =
      is_small_now()
          ? 1
          : std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, limits.max_threads);
  std::vector<db::Lease> snapshots = table_.source.database->readers_of_one_snapshot(count);
  if (is_small(*snapshots.front())) {
    lock.unlock();
    work(*snapshots.front(), {});
    return lock.lock();
  }
  max_ahead_ = chunks_ahead_per_thread * static_cast<std::int64_t>(count);
  for (db::Lease& snapshot : snapshots) {
    threads_.emplace_back([this, mine = std::move(snapshot)](const std::stop_token& stop) {
      const db::StopScope scope(stop);
      work(*mine, stop);
    });
  }
}

void TableReader::work(db::Connection& connection, const std::stop_token& stop) {
  try {
    const Limits& limits = table_.limits;
    begin_codes(table_.codes, connection);
    store::Listing listing = table_.source.listing(connection);
    table_.layout->select(listing);
    Builder batch = table_.layout->make_batch(table_.representation, table_.codes);
    while (const std::optional<Chunk> chunk = take_chunk(listing, stop)) {
      Batches batches;
      db::Query rows = listing.scan(chunk->keys);
      while (table_.layout->append(batch, rows, connection, rows_between_checks) ==
             rows_between_checks) {
        if (stop.stop_requested()) return;
        if (batch.size() >= limits.bytes_per_batch) batches.push_back(batch.take());
      }
      if (batch.length() > 0) batches.push_back(batch.take());
      const std::lock_guard lock(mutex_);
      chunks_.emplace(chunk->index, std::move(batches));
      changed_.notify_all();
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    fail(std::current_exception());
  }
}

std::optional<TableReader::Chunk> TableReader::take_chunk(const store::Listing& listing,
                                                          const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested() && !failure_ && keys_to_read_) {
    const auto has_room = [&] { return next_to_read_ < next_to_fetch_ + max_ahead_; };
    if (has_room()) {
      const Chunk chunk{next_to_read_++, *keys_to_read_};
      keys_to_read_ = listing.keys_after(chunk.keys.last, table_.limits.keys_per_chunk);
      return chunk;
    }
    const auto since = idle_since_;
    const auto is_changed = [&] { return failure_ || has_room() || idle_since_ != since; };
    if (!since) {
      changed_.wait(lock, stop, is_changed);
    } else if (!changed_.wait_until(lock, stop, *since + table_.limits.max_idle_time, is_changed) &&
               !stop.stop_requested()) {
      fail(idleness());
    }
  }
  return std::nullopt;
}

void TableReader::fail(std::exception_ptr failure) {
  if (!failure_) failure_ = std::move(failure);
  chunks_.clear();
  changed_.notify_all();
}

}  // namespace comptroller::arrow
