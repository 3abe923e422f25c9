#include "db/postgresql/channel.hpp"

#include <iterator>
#include <utility>

namespace comptroller::db::postgresql {

namespace {

// The results of more requests would fill the buffers of the connection.
constexpr std::size_t max_unread = 500;

}  // namespace

void Channel::add_waiting() {
  if (!is_in_transaction_ && unread_ == 0) add_statements(before_requests_);
  // A pipeline is a transaction until BEGIN, whose isolation level no statement may precede.
  add_statements(std::exchange(beginning_, {}));
  add_statements(std::exchange(later_, {}));
  add_statements(std::exchange(closing_, {}));
}

void Channel::add_statements(const std::vector<std::string>& statements) {
  unread_ += statements.size();
  for (const std::string& sql : statements) session_->add_statement(sql);
}

void Channel::add_later(const std::function<void(Session&)>& add, ReadResult read) {
  add_waiting();
  add(*session_);
  const std::size_t place = unread_++;
  if (read) readers_.emplace_back(place, std::move(read));
  if (unread_ >= max_unread) exchange_all([](Session&) {});
}

void Channel::forget_prepared(const std::string& name) {
  if (is_behind_pooler_) {
    ++forgotten_;
  } else {
    later_.push_back("DEALLOCATE " + name);
  }
}

void Channel::copy_in(const std::string& sql, std::string_view data) {
  complete_waiting();
  session_->copy_in(sql, data);
}

std::string Channel::copy_out(const std::string& sql) {
  complete_waiting();
  return session_->copy_out(sql);
}

void Channel::complete_waiting() {
  if (unread_ > 0 || !beginning_.empty() || !later_.empty()) return begin_now();
  session_->check_interrupt();
}

std::vector<Result> Channel::exchange_all(const std::function<void(Session&)>& add) {
  session_->check_interrupt();
  add_waiting();
  const std::size_t before = std::exchange(unread_, 0);
  const auto readers = std::exchange(readers_, {});
  try {
    add(*session_);
  } catch (...) {
    // The transaction is undone; what was sent must not be mistaken for the results of others.
    session_->run_undone();
    throw;
  }
  std::vector<Result> results = session_->run();
  if (results.size() < before) throw Error(Code::internal, "requests without results");
  for (const auto& [place, read] : readers) read(std::move(results[place]));
  results.erase(results.begin(), std::next(results.begin(), static_cast<std::ptrdiff_t>(before)));
  return results;
}

void Channel::begin(std::vector<std::string> statements) {
  roll_back();  // of a transaction whose end failed
  is_in_transaction_ = true;
  ++transactions_;
  beginning_ = std::move(statements);
}

void Channel::begin_now() {
  exchange_all([](Session&) {});
}

void Channel::commit() {
  const bool has_begun = beginning_.empty();
  beginning_.clear();
  closing_.clear();
  if (!has_begun) {
    is_in_transaction_ = false;
    return;
  }
  // COMMIT would undo it without an error.
  if (session_->has_failed()) {
    throw Error(Code::internal, "a write went on after one of its statements had failed");
  }
  unread_ = 0;
  readers_.clear();
  session_->add_statement("COMMIT");
  try {
    // Waiting requests are sent with it; the loss of one is not told apart from that of COMMIT.
    session_->run(false);
  } catch (const Lost& lost) {
    throw Error(Code::outcome_unknown,
                lost.detail() +
                    "; the write may have been executed: repeat it with the same "
                    "Idempotency-Key, or read the record first");
  }
  is_in_transaction_ = false;
}

void Channel::roll_back() noexcept {
  const bool has_begun = beginning_.empty();
  beginning_.clear();
  closing_.clear();
  readers_.clear();
  if (!std::exchange(is_in_transaction_, false) || !has_begun) return;
  // An interrupt would be lost here; the next request throws it.
  if (std::exchange(unread_, 0) > 0) session_->run_undone();
  try {
    if (!session_->is_usable()) return;
    session_->add_statement("ROLLBACK");
    session_->send();
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the session is not used again
  }
}

}  // namespace comptroller::db::postgresql
