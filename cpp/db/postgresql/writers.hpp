// Writes run at once, each in a transaction on a connection of its own. A write that met another
// one, or whose connection was lost before its commit, runs again.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

#include "db/postgresql/pool.hpp"

namespace comptroller::db::postgresql {

// Safe for many threads.
class Writers {
 public:
  static constexpr std::size_t max_writers = 16;

  // The interrupt must outlive this object. For `connect` and `check` see Pool.
  Writers(Pool::Connect connect, Pool::Check check, const Interrupt& interrupt,
          std::chrono::milliseconds max_wait);
  ~Writers() { end(); }
  Writers(const Writers&) = delete;
  Writers& operator=(const Writers&) = delete;

  // See Database. Running work must not call these functions; they throw unsupported.
  void write(const std::function<void(Connection&)>& work);
  bool write_unless_bulk(const std::function<void(Connection&)>& work);
  void write_later(std::function<void(Connection&)> work,
                   std::function<void(std::exception_ptr)> done);
  // Runs a bulk write, and commits if `work` returns true; see Filling. It does not run again.
  // `connect_alone` connects without the shared symbols.
  void write_bulk(const Filling& filling, const Pool::Connect& connect_alone,
                  const std::function<bool(Connection&)>& work);
  Commits commits() const;
  // Ends the writes of write_later that have not begun, and refuses others. Returns when those that
  // run have ended.
  void end();

 private:
  struct Task {
    std::function<void(Connection&)> work;
    std::function<void(std::exception_ptr)> done;
    Deadline deadline;
  };

  // Returns false, without calling `work`, if it does not wait for bulk writes and meets one.
  bool run(const std::function<void(Connection&)>& work, Deadline deadline, bool waits = true);
  void run_queue() noexcept;
  void run_task(Task& task) noexcept;

  const Interrupt& interrupt_;
  std::chrono::milliseconds max_wait_;
  Pool pool_;

  mutable std::mutex mutex_;
  Commits commits_;
  std::list<Task> queue_;
  std::vector<std::thread> threads_;  // of write_later
  std::size_t idle_threads_ = 0;
  bool is_ending_ = false;
  std::condition_variable later_;
};

}  // namespace comptroller::db::postgresql
