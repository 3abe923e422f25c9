// Write operations that no thread waits for. Their answers are collected after their commit is
// durable.
#pragma once

#include <cstdint>
#include <exception>
#include <list>
#include <memory>

#include "service/service.hpp"

namespace comptroller::service {

// The deferred writes of one event loop. The loop watches a descriptor, which becomes readable when
// answers are ready. Safe for many threads.
class DeferredWrites {
 public:
  using Ticket = std::uint64_t;  // from 1

  struct Completed {
    Ticket ticket = 0;
    Answer answer;
    std::exception_ptr failure;  // set instead of the answer
  };

  // Throws unavailable if the process has no descriptor left.
  DeferredWrites();

  // Queues a write. Throws the Error of an invalid call, which is then not queued.
  Ticket submit(Service& service, const Principal& principal, const Call& call);
  // Becomes readable when writes complete, once for all writes of a commit.
  int descriptor() const;
  // Returns the writes that completed since the last call.
  std::list<Completed> take();

 private:
  struct State;

  static void queue(Service& service, db::Database& database, const std::shared_ptr<State>& state,
                    const std::shared_ptr<PendingWrite>& write,
                    std::list<Completed>::iterator queued, const std::exception_ptr& first);

  std::shared_ptr<State> state_;  // shared with the queued writes
};

}  // namespace comptroller::service
