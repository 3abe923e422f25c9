// What the calls of a service share.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include "service/call.hpp"
#include "store/idempotency.hpp"

namespace comptroller::service {

// Returns the secret from which a store derives the keys of its cursors, if it has one.
std::optional<Secret> find_secret(db::Connection& connection);
Secret read_secret(db::Connection& connection);

// The cursor keys of the store. Safe for many threads.
class StoredCursorKeys {
 public:
  // Returns the keys that the store has in the connection's transaction.
  CursorKeys read(db::Connection& connection);

 private:
  std::mutex mutex_;
  CursorKeys keys_{Secret{}};
  std::optional<std::int64_t> content_;  // see Connection::content
};

// The idempotency keys of writes in progress. Safe for many threads.
class KeysInFlight {
 public:
  using Key = store::IdempotencyKey;

  // Reserves a key until the result is released; throws idempotency_in_flight if it is reserved.
  std::shared_ptr<const Key> reserve(Key key);

 private:
  std::mutex mutex_;
  std::set<Key> keys_;
};

struct CallResources {
  Environment environment;
  BackgroundWork background;
  StoredCursorKeys cursor_keys = {};
  KeysInFlight keys_in_flight = {};
  store::JournalTreeCache journal_tree = {};  // used by one write at a time

  // Runs a read in a snapshot and returns its answer.
  std::string read(const PreparedCall& call, const Principal& principal, db::Connection& connection,
                   const store::PageBytes& bytes);
  // Runs a write in a transaction and returns its answer. `origin` lacks what the call determines.
  std::string write(const PreparedCall& call, const Principal& principal,
                    db::Connection& connection, store::Origin origin);
};

}  // namespace comptroller::service
