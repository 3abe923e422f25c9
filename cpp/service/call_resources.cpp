#include "service/call_resources.hpp"

#include <cstring>
#include <utility>

#include "model/error.hpp"

namespace comptroller::service {

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

CursorKeys StoredCursorKeys::read(db::Connection& connection) {
  const std::lock_guard guard(mutex_);
  const std::int64_t content = connection.content();
  if (content != content_) {
    keys_ = CursorKeys(read_secret(connection));
    content_ = content;
  }
  return keys_;
}

std::shared_ptr<const KeysInFlight::Key> KeysInFlight::reserve(Key key) {
  std::unique_lock lock(mutex_);
  const auto [reserved, is_new] = keys_.insert(std::move(key));
  lock.unlock();
  if (!is_new) {
    throw Error(Code::idempotency_in_flight, "a request with this key is still running");
  }
  return {&*reserved, [this](const Key* released) {
            const std::lock_guard guard(mutex_);
            keys_.erase(keys_.find(*released));
          }};
}

std::string CallResources::read(const PreparedCall& call, const Principal& principal,
                                db::Connection& connection, const store::PageBytes& bytes) {
  Context context{
      connection, nullptr,        principal,         environment, cursor_keys.read(connection),
      background, call.operation, environment.now(), bytes};
  return call.run(context);
}

std::string CallResources::write(const PreparedCall& call, const Principal& principal,
                                 db::Connection& connection, store::Origin origin) {
  const Timestamp now = environment.now();
  origin.recorded_at = now;
  origin.actor = principal.actor;
  origin.operation = call.operation;
  store::Changes changes(connection, std::move(origin), journal_tree);
  Context context{connection, &changes,       principal, environment, cursor_keys.read(connection),
                  background, call.operation, now};
  return call.run(context);
}

}  // namespace comptroller::service
