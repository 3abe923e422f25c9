// Reads a table in chunks from one snapshot. The caller's thread reads a small table at once.
// Threads read a larger one: each takes the next chunk of keys, at most two ahead of the caller,
// and they release the snapshot if the caller is idle for too long.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

#include "arrow/layout.hpp"
#include "arrow/stream.hpp"

namespace comptroller::arrow {

class TableReader {
 public:
  explicit TableReader(Table table);
  // Waits for the threads, which stop soon. Must not run in a forked child, which has no such
  // threads.
  ~TableReader();
  TableReader(const TableReader&) = delete;
  TableReader& operator=(const TableReader&) = delete;

  // The next batch, in order of keys; empty at the end. A failure is thrown again by later calls.
  Array next();
  const Table& table() const { return table_; }
  bool is_of_this_process() const;

 private:
  using Clock = std::chrono::steady_clock;
  using Batches = std::deque<Array>;

  // These two require mutex_.
  void begin(std::unique_lock<std::mutex>& lock);
  void fail(std::exception_ptr failure);
  // Reads chunks on one connection until there are no more.
  void work(db::Connection& connection);
  // The next chunk to read; nullopt if there is none.
  std::optional<std::int64_t> take_chunk();

  Table table_;
  pid_t process_;
  std::vector<std::thread> threads_;
  std::atomic<bool> is_stopping_ = false;

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  bool is_begun_ = false;
  std::int64_t chunk_count_ = 0;
  std::int64_t most_ahead_ = 1;
  std::int64_t next_to_read_ = 0;
  std::int64_t next_to_fetch_ = 0;
  std::map<std::int64_t, Batches> chunks_;  // read, not yet fetched
  Batches ready_;                           // of the chunks that were fetched
  std::exception_ptr failure_;
  // nullopt during a call, and after one that failed
  std::optional<Clock::time_point> idle_since_ = Clock::now();
};

}  // namespace comptroller::arrow
