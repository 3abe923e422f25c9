#include "service/deferred_writes.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <mutex>

#include "model/error.hpp"
#include "service/operations.hpp"

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

struct DeferredWrites::State {
  // Allocates nothing: `ended` has space for every queued write.
  void end(Ticket ticket, PendingWrite& write, const std::exception_ptr& failure) noexcept {
    write.end();
    const std::lock_guard guard(mutex);
    ended.push_back({ticket, std::move(write.answer()), failure});
    --queued;
    if (ended.size() == 1) signal.set();
  }

  std::mutex mutex;
  std::vector<Completed> ended;
  std::size_t queued = 0;
  Ticket last = 0;
  Signal signal;
};

DeferredWrites::DeferredWrites() : state_(std::make_shared<State>()) {}

DeferredWrites::Ticket DeferredWrites::submit(Service& service, const Principal& principal,
                                              const Call& call) {
  const auto write =
      std::make_shared<PendingWrite>(service, principal, service.admit(principal, call), call);
  Ticket ticket = 0;
  {
    const std::lock_guard guard(state_->mutex);
    ticket = ++state_->last;
    const std::size_t most = state_->ended.size() + state_->queued + 1;
    if (state_->ended.capacity() < most) state_->ended.reserve(2 * most);
    ++state_->queued;
  }
  try {
    service.database()->write_later(
        [write](db::Connection& connection) { write->run(connection); },
        [state = state_, ticket, write](const std::exception_ptr& failure) {
          state->end(ticket, *write, failure);
        });
  } catch (...) {
    const std::lock_guard guard(state_->mutex);
    --state_->queued;
    throw;
  }
  return ticket;
}

int DeferredWrites::descriptor() const {
  return state_->signal.descriptor();
}

std::vector<DeferredWrites::Completed> DeferredWrites::take() {
  std::vector<Completed> completed;
  const std::lock_guard guard(state_->mutex);
  completed.reserve(2 * state_->queued);
  completed.swap(state_->ended);
  if (!completed.empty()) state_->signal.clear();
  return completed;
}

}  // namespace comptroller::service
