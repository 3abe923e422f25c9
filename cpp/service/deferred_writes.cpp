#include "service/deferred_writes.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <mutex>
#include <utility>

#include "model/error.hpp"

namespace comptroller::service {

namespace {

// A pipe that is readable while the signal is set.
class Signal {
 public:
  Signal() {
    if (::pipe(ends_.data()) != 0)
      throw Error(Code::unavailable, "no file descriptor is available");
    for (const int end : ends_) {
      ::fcntl(end, F_SETFD, FD_CLOEXEC);
      ::fcntl(end, F_SETFL, O_NONBLOCK);
    }
  }
  ~Signal() {
    for (const int end : ends_) ::close(end);
  }
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;

  int descriptor() const { return ends_[0]; }
  void set() noexcept {
    const char byte = 1;
    // The write cannot fail, because the pipe holds at most one byte.
    [[maybe_unused]] const auto written = ::write(ends_[1], &byte, 1);
  }
  void clear() noexcept {
    char byte = 0;
    [[maybe_unused]] const auto read = ::read(ends_[0], &byte, 1);
  }

 private:
  std::array<int, 2> ends_{};
};

}  // namespace

// A write moves from one list to the other when it ends, which allocates nothing.
struct DeferredWrites::State {
  std::mutex mutex;
  std::list<Completed> queued;
  std::list<Completed> ended;
  Ticket last = 0;
  Signal signal;
};

// Queues a write, or its repetition after the failure `first`. Its outcome replaces `queued`.
void DeferredWrites::queue(Service& service, db::Database& database,
                           const std::shared_ptr<State>& state,
                           const std::shared_ptr<PendingWrite>& write,
                           std::list<Completed>::iterator queued, const std::exception_ptr& first) {
  const auto can_repeat = [first, write](const std::exception_ptr& failure) {
    if (first || !failure) return false;
    try {
      std::rethrow_exception(failure);
    } catch (const Error& error) {
      return write->can_repeat(error);
    } catch (...) {
      return false;
    }
  };
  database.write_later([write](db::Connection& connection) { write->run(connection); },
                       [&service, &database, state, queued, write, first,
                        can_repeat](std::exception_ptr failure) noexcept {
                         if (can_repeat(failure)) {
                           try {
                             return queue(service, database, state, write, queued, failure);
                           } catch (...) {
                             failure = PendingWrite::failure_of_repetition(
                                 failure, std::current_exception());
                           }
                         }
                         if (first && failure) {
                           failure = PendingWrite::failure_of_repetition(first, failure);
                         }
                         write->end();
                         service.sequence_entries_later();
                         const std::lock_guard guard(state->mutex);
                         queued->answer = std::move(write->answer());
                         queued->failure = failure;
                         state->ended.splice(state->ended.end(), state->queued, queued);
                         if (state->ended.size() == 1) state->signal.set();
                       });
}

DeferredWrites::DeferredWrites() : state_(std::make_shared<State>()) {}

DeferredWrites::Ticket DeferredWrites::submit(Service& service, const Principal& principal,
                                              const Call& call) {
  const auto write = std::make_shared<PendingWrite>(service.prepare_write(principal, call));
  std::unique_lock lock(state_->mutex);
  const Ticket ticket = ++state_->last;
  const auto queued = state_->queued.insert(state_->queued.end(), {ticket, {}, nullptr});
  lock.unlock();
  try {
    queue(service, *service.database(), state_, write, queued, nullptr);
  } catch (...) {
    lock.lock();
    state_->queued.erase(queued);
    throw;
  }
  return ticket;
}

int DeferredWrites::descriptor() const {
  return state_->signal.descriptor();
}

std::list<DeferredWrites::Completed> DeferredWrites::take() {
  const std::lock_guard guard(state_->mutex);
  if (!state_->ended.empty()) state_->signal.clear();
  return std::exchange(state_->ended, {});
}

}  // namespace comptroller::service
