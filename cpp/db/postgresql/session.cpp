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
constexpr std::chrono::seconds max_wait_for_undone{5};

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

void Session::check_usable() {
  if (::getpid() != process_) {
    throw Error(Code::closed, "the connection belongs to the process that opened it");
  }
  if (is_broken_) throw_lost("an earlier request did not end");
}

void Session::read_unread(bool may_interrupt) {
  if (!std::exchange(is_unread_, false)) return;
  Result failed;
  try {
    read_to_end(true, may_interrupt, failed);
  } catch (...) {  // the results of what was sent since are not read
    is_broken_ = true;
    throw;
  }
  if (failed) throw_lost(pq_.result_error(failed.get()));
}

bool Session::is_usable() {
  if (is_broken_ || ::getpid() != process_) return false;
  const auto is_readable = [&] {
    pollfd waiting{pq_.socket(connection_), POLLIN, 0};
    return ::poll(&waiting, 1, 0) != 0;
  };
  if (!is_readable()) return true;
  try {
    read_unread(false);
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
  check_usable();
  check_sent(pq_.send_statement(
      connection_, sql.c_str(), static_cast<int>(parameters.values.size()), types.data(),
      parameters.values.data(), parameters.lengths.data(), parameters.formats.data(), 1));
}

void Session::add_prepare(const std::string& name, const std::string& sql) {
  check_usable();
  check_sent(pq_.send_prepare(connection_, name.c_str(), sql.c_str(), 0, nullptr));
}

void Session::add_describe(const std::string& name) {
  check_usable();
  check_sent(pq_.send_describe(connection_, name.c_str()));
}

void Session::add_prepared(const std::string& name, const Parameters& parameters) {
  check_usable();
  check_sent(pq_.send_prepared(connection_, name.c_str(),
                               static_cast<int>(parameters.values.size()), parameters.values.data(),
                               parameters.lengths.data(), parameters.formats.data(), 1));
}

std::vector<Result> Session::run(bool may_interrupt) {
  check_usable();
  check_sent(pq_.pipeline_sync(connection_));
  read_unread(may_interrupt);
  return read_results(true, may_interrupt);
}

void Session::run_undone() noexcept {
  end_ = Clock::now() + max_wait_for_undone;
  try {
    run(false);
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): nobody needs the results
  }
  end_ = Deadline::max();
}

void Session::send() {
  check_usable();
  read_unread(false);
  check_sent(pq_.pipeline_sync(connection_));
  if (pq_.flush(connection_) < 0) throw_lost();
  is_unread_ = true;
}

void Session::run_outside_pipeline(const std::function<void()>& request) {
  check_usable();
  read_unread(true);
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
    if (interruption_ || pq_.put_copy_data(connection_, data.data(), size) != 1) {
      pq_.put_copy_end(connection_, "the data could not be sent");
      return;
    }
    // Else libpq would copy all of the data into its memory.
    while (!interruption_ && has_unsent()) wait_for_server(true, true);
  }
  pq_.put_copy_end(connection_, nullptr);
}

// Sends what the server takes now; returns whether there is more.
bool Session::has_unsent() {
  const int unsent = pq_.flush(connection_);
  if (unsent < 0) throw_lost();
  return unsent == 1;
}

// Waits until the server has received the requests and a result is there.
void Session::wait(bool may_interrupt) {
  while (true) {
    const bool is_sending = has_unsent();
    if (!is_sending && pq_.is_busy(connection_) == 0) return;
    wait_for_server(is_sending, may_interrupt);
  }
}

// Reads what the server has sent, or waits for it up to check_interval.
void Session::wait_for_server(bool is_sending, bool may_interrupt) {
  if (is_ready(pq_.socket(connection_), is_sending)) {
    check_sent(pq_.consume_input(connection_));
  } else if (end_ != Deadline::max()) {
    if (Clock::now() >= end_) throw_lost("the server does not answer");
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
  end_ = Clock::now() + max_wait_for_canceled;
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
    end_ = Clock::now();  // the connection is given up
  }
}

std::vector<Result> Session::read_results(bool is_pipeline, bool may_interrupt) {
  Result failed;
  std::vector<Result> results = read_to_end(is_pipeline, may_interrupt, failed);
  if (failed) fail(failed.get());
  return results;
}

std::vector<Result> Session::read_to_end(bool is_pipeline, bool may_interrupt, Result& failed) {
  is_broken_ = true;  // until all results are read
  std::vector<Result> results;
  bool has_ended = false;
  for (int empty = 0; !has_ended && empty <= 2;) {
    try {
      wait(may_interrupt);
    } catch (const Lost&) {
      if (interruption_) std::rethrow_exception(std::exchange(interruption_, nullptr));
      throw;
    }
    Result result(pq_.get_result(connection_));
    if (!result) {
      // A lost connection has no more results.
      if (pq_.status(connection_) != connection_ok) break;
      has_ended = !is_pipeline;
      ++empty;
      continue;
    }
    empty = 0;
    const int status = pq_.result_status(result.get());
    if (status == result_pipeline_sync) {
      has_ended = true;
    } else if (status == result_command_ok || status == result_tuples_ok) {
      results.push_back(std::move(result));
    } else if (status != result_pipeline_aborted && !failed) {
      failed = std::move(result);
    }
  }
  // A request to cancel that arrives later would end another statement.
  const bool is_late = canceled_.valid() && canceled_.wait_until(end_) != std::future_status::ready;
  canceled_ = {};
  const bool is_lost = !has_ended || pq_.status(connection_) != connection_ok;
  is_broken_ = is_late || is_lost;
  if (interruption_) {
    end_ = Deadline::max();
    std::rethrow_exception(std::exchange(interruption_, nullptr));
  }
  if (is_lost && !failed) throw_lost();
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
