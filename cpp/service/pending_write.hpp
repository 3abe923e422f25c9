// A write operation between its request and its answer.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "db/database.hpp"
#include "model/principal.hpp"

namespace comptroller::service {

class Service;
struct Call;
struct Operation;

struct Answer {
  std::string body;  // a JSON object
  bool is_replay = false;
};

// The idempotency keys of writes that have not ended. Safe for many threads.
class KeysInFlight {
 public:
  using Key = std::tuple<std::string, std::string, std::string>;  // customer, operation, key

  // Holds a key to the end of its life. Throws idempotency_in_flight if another holds it.
  class Reservation {
   public:
    Reservation(KeysInFlight& all, Key key);
    ~Reservation();
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;
    const Key& key() const { return *key_; }

   private:
    KeysInFlight& all_;
    std::set<Key>::iterator key_;
  };

 private:
  std::mutex mutex_;
  std::set<Key> keys_;
};

// What an operation makes of a request that it has read.
struct PreparedWrite {
  std::string canonical_request;  // see canonical_text; only if the call has an idempotency key
  // Gives the answer.
  std::function<std::string(Service&, const Principal&, db::Connection&)> run;
};

// Runs a write in a transaction of the caller's, and keeps its answer. With an idempotency key the
// answer is stored for a day with the request's fingerprint, and returned again for the same
// request.
class PendingWrite {
 public:
  // Reads the request and reserves its key. Throws what refuses the call.
  PendingWrite(Service& service, Principal principal, const Operation& operation, const Call& call);

  void run(db::Connection& connection);
  // The key is free again. The service is not used any more.
  void end() noexcept { reservation_.reset(); }
  Answer& answer() { return answer_; }

 private:
  Service& service_;
  Principal principal_;
  PreparedWrite prepared_;
  std::optional<KeysInFlight::Reservation> reservation_;
  Answer answer_;
};

}  // namespace comptroller::service
