// One reading of a table as it stands at one moment, chunk by chunk. A small table is read by the
// caller at once. A larger one is read by threads that take chunks of keys in turn, at most two
// ahead each; they also give up the snapshot when nobody asks for more.
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

class Scan {
 public:
  Scan(std::shared_ptr<const Layout> layout, Source source, Limits limits);
  // Waits for the threads, which stop soon. Must not run in a forked child: its threads are not
  // there.
  ~Scan();
  Scan(const Scan&) = delete;
  Scan& operator=(const Scan&) = delete;

  // The next batch, in order of keys; empty at the end. A failure is repeated at every later call.
  Array next();
  const Layout& layout() const { return *layout_; }
  bool is_of_this_process() const;

 private:
  using Clock = std::chrono::steady_clock;
  using Chunk = std::vector<Array>;

  // Reads chunks on one connection.
  class ChunkReader;
  // The time during which the caller asks for more, and is not idle.
  class Pull;

  void begin();
  void start_threads();
  void work(db::Connection& connection);
  // The next chunk to read; none when there is no more to do.
  std::optional<std::int64_t> take_chunk();
  void give_chunk(std::int64_t index, Chunk chunk);
  // Moves the next chunk to ready_; false at the end.
  bool fetch();
  void fail(std::exception_ptr failure);  // while mutex_ is held

  std::shared_ptr<const Layout> layout_;
  Source source_;
  Limits limits_;
  pid_t process_;
  bool is_begun_ = false;
  std::deque<Array> ready_;
  std::vector<std::thread> threads_;
  std::atomic<bool> is_stopping_ = false;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::int64_t chunk_count_ = 0;
  std::int64_t most_ahead_ = 0;
  std::int64_t next_to_read_ = 0;
  std::int64_t next_to_fetch_ = 0;
  std::map<std::int64_t, Chunk> chunks_;  // read, and not yet fetched
  std::exception_ptr failure_;
  bool is_pulled_ = false;
  Clock::time_point idle_since_ = Clock::now();
};

}  // namespace comptroller::arrow
