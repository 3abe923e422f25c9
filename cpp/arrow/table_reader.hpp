// Reads a table in chunks from one snapshot. The caller's thread reads a small table at once. A
// larger table is read by threads: each takes the next chunk of keys, at most two ahead of the
// caller, and they release the snapshot if the caller is idle for too long.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

#include "arrow/layout.hpp"
#include "arrow/table.hpp"

namespace comptroller::arrow {

class TableReader {
 public:
  // Must not be destroyed in a forked child, which does not have the threads.
  explicit TableReader(Table table);
  ~TableReader() {
    for (std::jthread& thread : threads_) thread.request_stop();  // all, before one is awaited
  }

  // Returns the next batch, in order of keys; empty at the end. Later calls throw a failure again.
  Array next();
  const Table& table() const { return table_; }
  bool is_of_this_process() const;

 private:
  using Clock = std::chrono::steady_clock;
  using Batches = std::deque<Array>;
  struct Chunk {
    std::int64_t index = 0;
    store::KeyRange keys;
  };

  // Both functions require mutex_.
  void begin(std::unique_lock<std::mutex>& lock);
  void fail(std::exception_ptr failure);
  // Reads chunks on one connection until no chunk is left.
  void work(db::Connection& connection, const std::stop_token& stop);
  // Returns the next chunk to read, and finds the one after it; nullopt if none is left.
  std::optional<Chunk> take_chunk(const store::Listing& listing, const std::stop_token& stop);

  Table table_;
  pid_t process_;

  std::mutex mutex_;  // guards the members below
  std::condition_variable_any changed_;
  bool is_begun_ = false;
  std::optional<store::KeyRange> keys_to_read_;  // of the next chunk; nullopt if none is left
  std::int64_t max_ahead_ = 1;
  std::int64_t next_to_read_ = 0;
  std::int64_t next_to_fetch_ = 0;
  std::map<std::int64_t, Batches> chunks_;  // read, not yet returned
  Batches ready_;                           // of the chunks that were taken
  std::exception_ptr failure_;
  // nullopt during a call, and after a failed call
  std::optional<Clock::time_point> idle_since_ = Clock::now();

  std::vector<std::jthread> threads_;  // destroyed first, which ends the threads
};

}  // namespace comptroller::arrow
