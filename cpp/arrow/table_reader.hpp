// Reads a table in chunks from one snapshot. The caller's thread reads a small table at once.
// Threads read a larger one: each takes the next chunk of keys, at most two ahead of the caller,
// and they release the snapshot if the caller is idle for too long.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "arrow/layout.hpp"
#include "arrow/stream.hpp"

namespace comptroller::arrow {

class TableReader {
 public:
  TableReader(std::shared_ptr<const Layout> layout, RowSource source, Limits limits);
  // Waits for the threads, which stop soon. Must not run in a forked child, which has no such
  // threads.
  ~TableReader();
  TableReader(const TableReader&) = delete;
  TableReader& operator=(const TableReader&) = delete;

  // The next batch, in order of keys; empty at the end. A failure is thrown again by later calls.
  Array next();
  const Layout& layout() const { return *layout_; }
  bool is_of_this_process() const;

 private:
  using Clock = std::chrono::steady_clock;
  using Chunk = std::vector<Array>;

  // Reads chunks on one connection.
  class ChunkReader;
  // A call of next(), during which the caller is not idle.
  class PendingCall;

  void begin();
  void start_threads();
  void work(db::Connection& connection);
  // The next chunk to read; nullopt if there is none.
  std::optional<std::int64_t> take_chunk();
  void give_chunk(std::int64_t index, Chunk chunk);
  // Moves the next chunk to ready_; false at the end.
  bool fetch();
  void fail(std::exception_ptr failure);  // requires mutex_

  std::shared_ptr<const Layout> layout_;
  RowSource source_;
  Limits limits_;
  pid_t process_;
  bool is_begun_ = false;
  std::deque<Array> ready_;
  std::vector<std::thread> threads_;
  std::atomic<bool> is_stopping_ = false;

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::int64_t chunk_count_ = 0;
  std::int64_t most_ahead_ = 0;
  std::int64_t next_to_read_ = 0;
  std::int64_t next_to_fetch_ = 0;
  std::map<std::int64_t, Chunk> chunks_;  // read, not yet fetched
  std::exception_ptr failure_;
  bool has_pending_call_ = false;
  Clock::time_point idle_since_ = Clock::now();
};

}  // namespace comptroller::arrow
