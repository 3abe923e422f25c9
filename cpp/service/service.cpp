#include "service/service.hpp"

#include <sodium.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "db/forks.hpp"
#include "model/error.hpp"
#include "service/authorisation.hpp"
#include "service/operation.hpp"
#include "service/operations.hpp"
#include "store/customers.hpp"
#include "store/idempotency.hpp"
#include "store/journal.hpp"
#include "store/journal_snapshot.hpp"
#include "store/jurisdiction_changes.hpp"
#include "store/operator_indexes.hpp"
#include "store/readable_views.hpp"

namespace comptroller::service {

namespace {

constexpr std::size_t max_idempotency_key = 255;
constexpr std::chrono::milliseconds between_sequencing{50};

// Makes the indexes that a write beside others leaves out. If other writers are busy, this is left
// to the end of their load, or to the next program that opens the store.
void make_operator_indexes(db::Database& database) {
  if (!store::lacks_operator_indexes(*database.reader())) return;
  const auto make = [](db::Connection& connection, db::Connection*) {
    store::make_operator_indexes(connection);
    return true;
  };
  try {
    database.fill({.is_hasty = true})->write(make);
  } catch (const Error& error) {
    if (error.code() != Code::unavailable) throw;
  }
}

// Creates the initial contents of a store: its secret, the default customer, the readable views.
void initialise_store(db::Database& database, Timestamp now,
                      const store::RecordProgress& progress) {
  {
    const db::Lease reader = database.reader();
    if (!database.is_writable()) {
      read_secret(*reader);
      return;
    }
    if (find_secret(*reader) && reader->has_readable_views(store::readable_views()) &&
        !store::lacks_operator_indexes(*reader) && store::journal_size(*reader) > 0) {
      return;
    }
  }
  database.write([&](db::Connection& connection) {
    Secret made{};
    randombytes_buf(made.data(), made.size());
    const std::string_view bytes(reinterpret_cast<const char*>(made.data()), made.size());
    connection.run("INSERT INTO secrets (name, value) VALUES ('cursor', ?) ON CONFLICT DO NOTHING",
                   db::Value::blob(bytes));
    store::ensure_customer(connection, default_customer);
    connection.make_readable_views(store::readable_views());
  });
  // On a large store these exceed the time limit of an ordinary write.
  if (store::journal_size(*database.reader()) == 0) {
    database.write_bulk([&](db::Connection& connection) {
      store::begin_journal(connection, now, progress);
      return true;
    });
  }
  make_operator_indexes(database);
}

void check_idempotency_key(std::string_view key) {
  const bool is_printable =
      std::ranges::all_of(key, [](char character) { return character >= ' ' && character <= '~'; });
  if (key.empty() || key.size() > max_idempotency_key || !is_printable) {
    throw Error::invalid("Idempotency-Key", "must be 1 to 255 printable ASCII characters");
  }
}

Environment make_environment(const std::function<std::int64_t()>& clock_offset) {
  if (sodium_init() < 0) throw Error(Code::unusable, "the system has no source of randomness");
  const auto now = [clock_offset] {
    using std::chrono::microseconds;
    const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
    return Timestamp{std::chrono::duration_cast<microseconds>(since_epoch).count() +
                     (clock_offset ? clock_offset() : 0)};
  };
  const auto make_id = [now] {
    std::array<unsigned char, 10> random{};
    randombytes_buf(random.data(), random.size());
    return make_uuid_v7(now(), random);
  };
  return {now, make_id};
}

}  // namespace

Environment system_environment() {
  return make_environment({});
}

Environment environment_of(const db::Database& database) {
  return make_environment(database.clock_offset());
}

Service::Service(std::unique_ptr<db::Database> database, Environment environment,
                 const store::RecordProgress& progress)
    : database_(std::move(database)),
      process_(::getpid()),
      resources_{std::move(environment), {*database_, [this](db::Connection& connection) {
                                            const bool are_changes_left =
                                                store::continue_jurisdiction_changes(connection);
                                            return store::delete_expired_answers(
                                                       connection, resources_.environment.now()) ||
                                                   are_changes_left;
                                          }}} {
  initialise_store(*database_, resources_.environment.now(), progress);
  if (database_->is_writable() && database_->reader()->dialect().has_pending_entries) {
    sequencer_.emplace(
        *database_,
        [this](db::Connection& connection) {
          return store::sequence_entries(connection, resources_.journal_tree, false) != 0;
        },
        between_sequencing);
  }
  resume_background_work();
}

Service::~Service() {
  if (sequencer_) sequencer_->stop();
  resources_.background.stop();
  database_.reset();  // ends queued writes, which use the other members
}

void Service::resume_background_work() noexcept {
  try {
    if (!database_->is_writable()) return;
    if (store::has_jurisdiction_changes(*database_->reader())) resources_.background.start();
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the next opening resumes it
  }
}

void Service::sequence_entries() {
  if (!sequencer_) return;
  try {
    bool is_more = store::has_pending_entries(*database_->reader());
    while (is_more) {
      is_more = false;
      database_->write_unless_bulk([&](db::Connection& connection) {
        const auto sequenced = store::sequence_entries(connection, resources_.journal_tree, true);
        is_more = sequenced == store::max_sequenced;
      });
    }
  } catch (const Error& error) {
    if (error.code() == Code::closed) throw;
  }
}

void Service::sequence_entries_later() noexcept {
  if (sequencer_) sequencer_->start();
}

void Service::close() {
  try {  // so that a program that writes and ends leaves its entries to those that only read
    if (!is_closed_ && sequencer_ && sequencer_->has_work()) sequence_entries();
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the next writer numbers them
  }
  is_closed_ = true;
  database_->interrupt();
  if (sequencer_) sequencer_->stop();
  resources_.background.stop();
}

bool Service::is_forked() const {
  return ::getpid() != process_;
}

void Service::check_usable() const {
  if (is_closed_) throw Error(Code::closed, "the service is closed");
  if (is_forked()) {
    throw Error(
        Code::closed,
        std::string("the service was opened before this process was forked; ") + db::how_to_fork);
  }
}

void Service::check(const Principal& principal, const Call& call) const {
  check_usable();
  const Operation& operation = *call.operation;
  require_scope(principal, operation.scope, operation.needs_write_scope);
  if (!call.idempotency_key) return;
  if (!operation.is_write) {
    throw Error::invalid("Idempotency-Key", "is only for writes; " + operation.name + " is a read");
  }
  check_idempotency_key(*call.idempotency_key);
}

PreparedCall Service::prepare_read(const Principal& principal, const Call& call) const {
  check(principal, call);
  if (call.operation->is_write) throw Error(Code::internal, call.operation->name + " is a write");
  return call.operation->prepare(*call.operation, principal, call);
}

PendingWrite Service::prepare_write(const Principal& principal, const Call& call) {
  check(principal, call);
  if (!call.operation->is_write) {
    throw Error::invalid("operation", call.operation->name + " does not write");
  }
  return {resources_, principal, call};
}

void Service::make_missing_indexes() {
  make_operator_indexes(*database_);
}

std::string Service::run_short(const PreparedCall& read, const Principal& principal,
                               db::Connection& snapshot) {
  return resources_.read(read, principal, snapshot, store::PageBytes::of_short_read());
}

Answer Service::call(const Principal& principal, const Call& call) {
  if (call.operation->is_write) {
    PendingWrite write = prepare_write(principal, call);
    const auto run = [&](db::Connection& connection) { write.run(connection); };
    try {
      database_->write(run);
    } catch (const Error& error) {
      if (!write.can_repeat(error)) throw;
      const std::exception_ptr first = std::current_exception();
      try {
        database_->write(run);
      } catch (...) {
        std::rethrow_exception(
            PendingWrite::failure_of_repetition(first, std::current_exception()));
      }
    }
    sequence_entries_later();
    return std::move(write.answer());
  }
  return read(prepare_read(principal, call), principal, *call.operation, {});
}

std::optional<Answer> Service::call_if_short(const Principal& principal, const Call& call) {
  if (call.parameters.size() > max_short_parameters) return std::nullopt;
  const PreparedCall prepared = prepare_read(principal, call);
  if (!prepared.is_short) return std::nullopt;
  try {
    return read(prepared, principal, *call.operation, store::PageBytes::of_short_read());
  } catch (const store::TooLong&) {
    return std::nullopt;
  }
}

Answer Service::read(const PreparedCall& read, const Principal& principal,
                     const Operation& operation, const store::PageBytes& bytes) {
  if (operation.reads_journal) sequence_entries();
  const auto answer = [&](bool may_guess) {
    const db::Lease connection = database_->reader();
    const db::Snapshot snapshot(*connection);
    connection->begin_request();
    if (may_guess) connection->allow_guesses();
    Answer result{resources_.read(read, principal, *connection, bytes), false};
    connection->check_guesses();
    return result;
  };
  try {
    return answer(true);
  } catch (const db::Lost&) {      // NOLINT(bugprone-empty-catch): it runs again once
  } catch (const db::Conflict&) {  // NOLINT(bugprone-empty-catch): a guess was wrong, or a standby
                                   // removed what it read
  }
  return answer(false);
}

}  // namespace comptroller::service
