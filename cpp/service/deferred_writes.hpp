// Write operations that no thread waits for: their answers are collected when their commit is
// durable.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "service/service.hpp"

namespace comptroller::service {

// The deferred writes of one event loop, which watches a descriptor for their answers. Safe for
// many threads.
class DeferredWrites {
 public:
  using Ticket = std::uint64_t;  // from 1

  struct Completed {
    Ticket ticket = 0;
    Answer answer;
    std::exception_ptr failure;  // in place of the answer
  };

  // Throws unavailable if the system has no descriptor left.
  DeferredWrites();

  // Queues a write. Throws what refuses the call; nothing is queued then.
  Ticket submit(Service& service, const Principal& principal, const Call& call);
  // Readable when an answer was completed, once for all of a commit.
  int descriptor() const;
  // The writes completed since the last call.
  std::vector<Completed> take();

 private:
  struct State;

  std::shared_ptr<State> state_;  // shared with the queued writes
};

}  // namespace comptroller::service
