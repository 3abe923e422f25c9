#include "service/service.hpp"

#include <sodium.h>
#include <unistd.h>

#include <chrono>
#include <cstring>

#include "db/forks.hpp"
#include "model/error.hpp"
#include "model/wording.hpp"
#include "service/authorisation.hpp"
#include "service/operations.hpp"
#include "store/customers.hpp"
#include "store/idempotency.hpp"
#include "store/jurisdiction_changes.hpp"
#include "store/operator_indexes.hpp"
#include "store/tables.hpp"

namespace comptroller::service {

namespace {

constexpr std::size_t max_idempotency_key = 255;

std::optional<Secret> find_secret(db::Connection& connection) {
  db::Query query = connection.query("SELECT value FROM secrets WHERE name = 'cursor'");
  if (!query.step()) return std::nullopt;
  const db::Value value = query.column(0);
  Secret secret{};
  if (value.bytes.size() != secret.size()) {
    throw Error::damaged("its cursor secret is cut short");
  }
  std::memcpy(secret.data(), value.bytes.data(), secret.size());
  return secret;
}

Secret read_secret(db::Connection& connection) {
  if (const auto secret = find_secret(connection)) return *secret;
  throw Error::damaged("its cursor secret is missing");
}

// The readable views of all tables, generated from the field tables of the records.
std::vector<db::ReadableView> readable_views() {
  std::vector<db::ReadableView> views;
  store::for_each_table([&]<class R>() {
    db::ReadableView& view = views.emplace_back(R::table);
    for_each_field<R>([&]<class F>() {
      using T = bare<typename F::Type>;
      if constexpr (!is_computed<T>) {
        view.columns.push_back({F::name, Scalar<T>::storage, enum_texts<T>});
      }
    });
  });
  return views;
}

// Creates the initial contents of a store: its secret, the default customer, the readable views.
void initialise_store(db::Database& database) {
  {
    const db::Lease reader = database.reader();
    if (!database.is_writable()) {
      read_secret(*reader);
      return;
    }
    if (find_secret(*reader) && reader->has_readable_views(readable_views()) &&
        !store::lacks_operator_indexes(*reader)) {
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
    connection.make_readable_views(readable_views());
  });
  // On a large store this exceeds the time limit of an ordinary write.
  if (store::lacks_operator_indexes(*database.reader())) {
    database.write_bulk([](db::Connection& connection) {
      store::make_operator_indexes(connection);
      return true;
    });
  }
}

void check_idempotency_key(std::string_view key) {
  const bool is_printable =
      std::ranges::all_of(key, [](char character) { return character >= ' ' && character <= '~'; });
  if (key.empty() || key.size() > max_idempotency_key || !is_printable) {
    throw Error::invalid("Idempotency-Key", "must be 1 to 255 printable ASCII characters");
  }
}

}  // namespace

Environment system_environment() {
  if (sodium_init() < 0) throw Error(Code::unusable, "the system has no source of randomness");
  const auto now = [] {
    using std::chrono::microseconds;
    const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
    return Timestamp{std::chrono::duration_cast<microseconds>(since_epoch).count()};
  };
  const auto make_id = [now] {
    std::array<unsigned char, 10> random{};
    randombytes_buf(random.data(), random.size());
    return make_uuid_v7(now(), random);
  };
  return {now, make_id};
}

Service::Service(std::unique_ptr<db::Database> database, Environment environment)
    : database_(std::move(database)),
      environment_(std::move(environment)),
      process_(::getpid()),
      background_(*database_, [this](db::Connection& connection) {
        const bool are_changes_left = store::continue_jurisdiction_changes(connection);
        return store::delete_expired_answers(connection, environment_.now()) || are_changes_left;
      }) {
  initialise_store(*database_);
  resume_background_work();
}

Service::~Service() {
  background_.stop();
  database_.reset();  // ends queued writes, which use the other members
}

CursorKeys Service::cursor_keys(db::Connection& connection) {
  const std::lock_guard guard(mutex_);
  if (connection.content() != content_of_cursor_keys_) {
    cursor_keys_ = CursorKeys(read_secret(connection));
    content_of_cursor_keys_ = connection.content();
  }
  return cursor_keys_;
}

void Service::resume_background_work() noexcept {
  try {
    if (!database_->is_writable()) return;
    if (store::has_jurisdiction_changes(*database_->reader())) background_.start();
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the next opening resumes it
  }
}

void Service::close() {
  is_closed_ = true;
  database_->interrupt();
  background_.stop();
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

const Operation& Service::admit(const Principal& principal, const Call& call) const {
  check_usable();
  const Operation* operation = find_operation(call.operation);
  if (operation == nullptr) {
    throw Error(Code::not_found, "there is no operation " + shorten(call.operation));
  }
  require_scope(principal, operation->scope, operation->is_write);
  if (call.idempotency_key) {
    if (!operation->is_write) {
      throw Error::invalid("Idempotency-Key",
                           "is only for writes; " + call.operation + " is a read");
    }
    check_idempotency_key(*call.idempotency_key);
  }
  return *operation;
}

Answer Service::call(const Principal& principal, const Call& call) {
  const Operation& operation = admit(principal, call);
  if (!operation.is_write) {
    const db::Lease connection = database_->reader();
    const db::Snapshot snapshot(*connection);
    return {operation.prepare(operation, principal, call).run(*this, principal, *connection),
            false};
  }
  PendingWrite write(*this, principal, operation, call);
  database_->write([&](db::Connection& connection) { write.run(connection); });
  return std::move(write.answer());
}

std::string Service::read(const Principal& principal, const Call& call, db::Connection& snapshot) {
  const Operation& operation = admit(principal, call);
  if (operation.is_write) throw Error(Code::internal, call.operation + " is a write");
  return operation.prepare(operation, principal, call).run(*this, principal, snapshot);
}

}  // namespace comptroller::service
