// A write operation from its request to its answer.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "db/database.hpp"
#include "model/principal.hpp"
#include "store/idempotency.hpp"

namespace comptroller::service {

class Service;
struct Call;
struct Operation;

struct Answer {
  std::string body;  // a JSON object
  bool is_replay = false;
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

// A call whose request has been read.
struct PreparedCall {
  std::string canonical_request;  // see canonical_text; only if the call has an idempotency key
  // Runs the operation and returns its answer.
  std::function<std::string(Service&, const Principal&, db::Connection&)> run;
};

// Runs a write in the caller's transaction, and keeps its answer. With an idempotency key, stores
// the answer for a day with the request's fingerprint, and returns the stored answer to an equal
// request.
class PendingWrite {
 public:
  // Reads the request and reserves its key. Throws the Error of an invalid call.
  PendingWrite(Service& service, Principal principal, const Operation& operation, const Call& call);

  void run(db::Connection& connection);
  // Releases the key. The service is not used after this.
  void end() noexcept { reservation_.reset(); }
  Answer& answer() { return answer_; }

 private:
  Service& service_;
  Principal principal_;
  PreparedCall prepared_;
  std::shared_ptr<const KeysInFlight::Key> reservation_;
  Answer answer_;
};

}  // namespace comptroller::service
