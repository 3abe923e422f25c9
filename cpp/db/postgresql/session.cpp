#include "db/postgresql/session.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "db/postgresql/connecting.hpp"
#include "db/signals.hpp"

namespace comptroller::db::postgresql {

namespace {

constexpr int checks_per_interval = 5;  // before requests, as no thread is woken for them
// A server that does not end a canceled statement soon is not reachable.
constexpr std::chrono::seconds max_wait_for_canceled{5};

}  // namespace

Session::Session(const std::string& address, bool is_read_only, const Interrupt& interrupt)
    : pq_(libpq()),
      connection_(connect(address, is_read_only, interrupt)),
      interrupt_(interrupt),
      process_(::getpid()) {
  pq_.set_notice_processor(connection_, [](void*, const char*) {}, nullptr);
  try {
    check_sent(pq_.set_nonblocking(connection_, 1) == 0 ? 1 : 0);
    check_sent(pq_.enter_pipeline(connection_));
  } catch (...) {
    pq_.finish(connection_);
    throw;
  }
}

Session::~Session() {
  if (::getpid() == process_) pq_.finish(connection_);
}

void Session::check_process() {
  if (::getpid() != process_) {
    throw Error(Code::closed, "the connection belongs to the process that opened it");
  }
}

void Session::read_unread() {
  if (!std::exchange(is_unread_, false)) return;
  try {
    read_results(true, false);
  } catch (const Lost&) {
    is_broken_ = true;
    throw;
  } catch (const Error& error) {  // what was sent since is not read, and was not executed
    is_broken_ = true;
    throw Lost(Code::unavailable, error.detail());
  } catch (...) {
    is_broken_ = true;
    throw;
  }
}

bool Session::is_usable() {
  if (is_broken_ || ::getpid() != process_) return false;
  const auto is_readable = [&] {
    pollfd waiting{pq_.socket(connection_), POLLIN, 0};
    return ::poll(&waiting, 1, 0) != 0;
  };
  if (!is_readable()) return true;
  try {
    read_unread();
  } catch (const Error&) {
    return false;
  }
  // An idle connection becomes readable if the server closes it. No ROLLBACK is then sent, so its
  // transaction may still be open: it is not used again.
  is_broken_ = is_broken_ || is_readable();
  return !is_broken_;
}

std::string Session::parameter(const char* name) const {
  const char* const value = pq_.parameter_status(connection_, name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string Session::option(std::string_view name) const {
  for (const auto& [known, value] : parameters_of(connection_)) {
    if (known == name) return value;
  }
  return {};
}

void Session::throw_lost(const char* message) {
  is_broken_ = true;
  throw Lost(Code::unavailable,
             "the connection to the database was lost: " + one_line(message) + "; try again");
}

void Session::throw_lost() {
  throw_lost(pq_.error_message(connection_));
}

void Session::check_sent(int is_sent) {
  if (is_sent != 1) throw_lost();
}

void Session::check_interrupt() {
  if (Clock::now() < next_check_) return;
  interrupt_.check();
  next_check_ = Clock::now() + check_interval / checks_per_interval;
}

void Session::add_statement(const std::string& sql) {
  add_statement(sql, {}, {});
}

void Session::add_statement(const std::string& sql, std::span<const unsigned> types,
                            const Parameters& parameters) {
  check_process();
  check_sent(pq_.send_statement(
      connection_, sql.c_str(), static_cast<int>(parameters.values.size()), types.data(),
      parameters.values.data(), parameters.lengths.data(), parameters.formats.data(), 1));
}

void Session::add_prepare(const std::string& name, const std::string& sql) {
  check_process();
  check_sent(pq_.send_prepare(connection_, name.c_str(), sql.c_str(), 0, nullptr));
}

void Session::add_describe(const std::string& name) {
  check_process();
  check_sent(pq_.send_describe(connection_, name.c_str()));
}

void Session::add_prepared(const std::string& name, const Parameters& parameters) {
  check_process();
  check_sent(pq_.send_prepared(connection_, name.c_str(),
                               static_cast<int>(parameters.values.size()), parameters.values.data(),
                               parameters.lengths.data(), parameters.formats.data(), 1));
}

std::vector<Result> Session::run(bool may_interrupt) {
  check_sent(pq_.pipeline_sync(connection_));
  read_unread();
  return read_results(true, may_interrupt);
}

void Session::send() {
  read_unread();
  check_sent(pq_.pipeline_sync(connection_));
  if (pq_.flush(connection_) < 0) throw_lost();
  is_unread_ = true;
}

void Session::run_outside_pipeline(const std::function<void()>& request) {
  check_process();
  read_unread();
  check_sent(pq_.exit_pipeline(connection_));
  std::exception_ptr failure;
  try {
    request();
    read_results(false, true);
  } catch (...) {
    failure = std::current_exception();
    if (interruption_) failure = std::exchange(interruption_, nullptr);
  }
  // After a failure in the middle of a COPY, the session cannot be used again.
  if (!is_broken_) is_broken_ = pq_.enter_pipeline(connection_) != 1;
  if (failure) std::rethrow_exception(failure);
  if (is_broken_) throw_lost();
}

void Session::run_script(const std::string& sql) {
  run_outside_pipeline([&] { check_sent(pq_.send_script(connection_, sql.c_str())); });
}

void Session::copy_in(const std::string& sql, std::string_view data) {
  run_outside_pipeline([&] {
    begin_copy(sql, result_copy_in);
    send_copied(data);
  });
}

std::string Session::copy_out(const std::string& sql) {
  std::string data;
  run_outside_pipeline([&] {
    begin_copy(sql, result_copy_out);
    while (true) {
      char* piece = nullptr;
      const int size = pq_.get_copy_data(connection_, &piece, 1);
      if (size < 0) return;  // the end, or a failure, which the results have
      const std::unique_ptr<char, void (*)(void*)> owned(piece, pq_.free_memory);
      if (size == 0) {
        wait_for_server(false, true);
      } else {
        data.append(piece, static_cast<std::size_t>(size));
      }
    }
  });
  return data;
}

void Session::begin_copy(const std::string& sql, int direction) {
  check_sent(pq_.send_script(connection_, sql.c_str()));
  wait(true);
  const Result begun(pq_.get_result(connection_));
  if (begun && pq_.result_status(begun.get()) == direction) return;
  read_results(false, true);
  fail(begun.get());
}

// Stops early if the server has ended the COPY; its results then have the failure.
void Session::send_copied(std::string_view data) {
  constexpr std::size_t piece = std::size_t{1} << 16U;
  for (; !data.empty(); data.remove_prefix(std::min(piece, data.size()))) {
    const auto size = static_cast<int>(std::min(piece, data.size()));
    if (pq_.put_copy_data(connection_, data.data(), size) != 1) {
      pq_.put_copy_end(connection_, "the data could not be sent");
      return;
    }
  }
  pq_.put_copy_end(connection_, nullptr);
}

// Waits until the server has received the requests and a result is there.
void Session::wait(bool may_interrupt) {
  while (true) {
    const int unsent = pq_.flush(connection_);
    if (unsent == 0 && pq_.is_busy(connection_) == 0) return;
    if (unsent < 0) throw_lost();
    wait_for_server(unsent == 1, may_interrupt);
  }
}

// Reads what the server has sent, or waits for it up to check_interval.
void Session::wait_for_server(bool has_unsent, bool may_interrupt) {
  if (is_ready(pq_.socket(connection_), has_unsent)) {
    check_sent(pq_.consume_input(connection_));
  } else if (interruption_) {
    if (Clock::now() >= end_of_canceled_) throw_lost();
  } else if (may_interrupt) {
    try {
      interrupt_.check();
    } catch (...) {
      interruption_ = std::current_exception();
      cancel();
    }
  }
}

// Asks the server on a connection of its own, which can take long: in a thread, which has all that
// it uses.
void Session::cancel() {
  end_of_canceled_ = Clock::now() + max_wait_for_canceled;
  const std::shared_ptr<PGcancel> request(pq_.get_cancel(connection_), pq_.free_cancel);
  if (!request) return;
  std::packaged_task<void()> task([&pq = pq_, request] {
    block_signals();
    std::array<char, 256> message{};
    pq.cancel(request.get(), message.data(), static_cast<int>(message.size()));
  });
  canceled_ = task.get_future();
  try {
    std::thread(std::move(task)).detach();
  } catch (const std::system_error&) {
    end_of_canceled_ = Clock::now();  // the connection is given up
  }
}

std::vector<Result> Session::read_results(bool is_pipeline, bool may_interrupt) {
  std::vector<Result> results;
  Result failed;
  int empty = 0;
  while (true) {
    try {
      wait(may_interrupt);
    } catch (const Lost&) {
      if (interruption_) std::rethrow_exception(std::exchange(interruption_, nullptr));
      throw;
    }
    Result result(pq_.get_result(connection_));
    if (!result) {
      if (!is_pipeline) break;
      // A lost connection has no more results.
      if (pq_.status(connection_) != connection_ok || ++empty > 2) break;
      continue;
    }
    empty = 0;
    const int status = pq_.result_status(result.get());
    if (status == result_pipeline_sync) break;
    if (status == result_command_ok || status == result_tuples_ok) {
      results.push_back(std::move(result));
    } else if (status != result_pipeline_aborted && !failed) {
      failed = std::move(result);
    }
  }
  // A request to cancel that arrives later would end another statement.
  if (canceled_.valid()) {
    is_broken_ = is_broken_ || canceled_.wait_until(end_of_canceled_) != std::future_status::ready;
    canceled_ = {};
  }
  const bool is_lost = pq_.status(connection_) != connection_ok;
  is_broken_ = is_broken_ || is_lost;
  if (interruption_) std::rethrow_exception(std::exchange(interruption_, nullptr));
  if (failed) fail(failed.get());
  if (is_lost) throw_lost();
  return results;
}

void Session::fail(const PGresult* result) {
  const char* const state = pq_.error_field(result, field_sqlstate);
  const char* const message = pq_.error_field(result, field_message);
  // libpq itself reports a lost connection, without a code.
  if (state == nullptr || is_broken_) {
    throw_lost(message != nullptr ? message : pq_.result_error(result));
  }
  try {
    throw_failure(state, message != nullptr ? message : "");
  } catch (const Lost&) {
    is_broken_ = true;
    throw;
  }
}

}  // namespace comptroller::db::postgresql
