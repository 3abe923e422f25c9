#include <fcntl.h>
#include <pybind11/stl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <map>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "bindings/bindings.hpp"

namespace comptroller::bindings {

namespace {

// The seconds in which the process must end, if the signal is the first one and if it is a further
// one; 0 is no limit.
struct Limit {
  unsigned first_s = 0;
  unsigned repeated_s = 0;
};

// Written before a handler is installed, then only read.
constinit std::array<Limit, NSIG> limits;
std::array<int, 2> pipe_ends{-1, -1};
volatile std::sig_atomic_t alarms_set = 0;

// In the log's format, but without the time, which no async-signal-safe function formats.
constexpr std::string_view message =
    R"({"level":"error","event":"the process did not end in time after a signal, and was ended"})"
    "\n";

void end_now(int) {
  // If standard error blocks, the default action of this signal ends the process.
  ::alarm(1);
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, message.data(), message.size());
  ::_exit(1);
}

void receive(int number) {
  const int failure = errno;
  const Limit limit = limits[static_cast<std::size_t>(number)];
  const unsigned seconds = alarms_set == 0 ? limit.first_s : limit.repeated_s;
  if (alarms_set < 2 && seconds > 0) {  // not more, so that many signals cannot postpone the end
    alarms_set = alarms_set + 1;
    const unsigned left_s = ::alarm(seconds);
    if (0 < left_s && left_s < seconds) ::alarm(left_s);
  }
  const auto byte = static_cast<unsigned char>(number);
  [[maybe_unused]] const auto written = ::write(pipe_ends[1], &byte, 1);
  errno = failure;
}

void check(int result, const char* what) {
  if (result != 0) throw std::system_error(errno, std::generic_category(), what);
}

void handle(int number, void (*handler)(int), unsigned flags) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = static_cast<int>(flags);
  ::sigfillset(&action.sa_mask);
  check(::sigaction(number, &action, nullptr), "sigaction");
}

// Neither Python nor a thread takes part in the end: the system's timer ends the process, even if
// its main thread holds the GIL for ever.
int receive_signals(const std::map<int, std::pair<unsigned, unsigned>>& signals) {
  if (pipe_ends[0] < 0) {
    check(::pipe(pipe_ends.data()), "pipe");
    for (const int end : pipe_ends) {
      ::fcntl(end, F_SETFD, FD_CLOEXEC);
      ::fcntl(end, F_SETFL, O_NONBLOCK);
    }
    handle(SIGALRM, &end_now, SA_RESETHAND | SA_NODEFER);
  }
  for (const auto& [number, limit] : signals) {
    limits.at(static_cast<std::size_t>(number)) = {limit.first, limit.second};
    handle(number, &receive, SA_RESTART | SA_ONSTACK);
  }
  return pipe_ends[0];
}

// A thread of the system, because another thread may hold the GIL for ever.
void end_with_input(unsigned within_s) {
  std::thread([within_s] {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    char byte = 0;
    while (::read(STDIN_FILENO, &byte, 1) > 0) continue;
    ::kill(::getpid(), SIGTERM);
    std::this_thread::sleep_for(std::chrono::seconds(within_s));
    ::_exit(1);
  }).detach();
}

}  // namespace

void bind_ending(pybind11::module_& module) {
  using pybind11::arg, pybind11::kw_only;
  module.def("receive_signals", &receive_signals, arg("limits"));
  module.def("end_with_input", &end_with_input, kw_only(), arg("within_s"));
}

}  // namespace comptroller::bindings
