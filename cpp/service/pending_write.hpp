// A write operation from its request to its answer.
#pragma once

#include <exception>
#include <memory>

#include "service/call_resources.hpp"

namespace comptroller::service {

// Runs a write in the caller's transaction, and keeps its answer. With an idempotency key, stores
// the answer for a day with the request's fingerprint, and returns the stored answer to an equal
// request.
class PendingWrite {
 public:
  // Reads the request and reserves its key. Throws the Error of an invalid call.
  PendingWrite(CallResources& resources, Principal principal, const Call& call);

  void run(db::Connection& connection);
  // Whether it can run again after this failure: the outcome of the commit is unknown, and the
  // answer that may have been stored with the key shows it.
  bool can_repeat(const Error& failure) const {
    return failure.code() == Code::outcome_unknown && reservation_;
  }
  // Returns the failure that the caller learns if the repetition failed. The outcome remains
  // unknown if it could not run.
  static std::exception_ptr failure_of_repetition(const std::exception_ptr& first,
                                                  const std::exception_ptr& repetition);
  // Releases the key. The resources are not used after this.
  void end() noexcept { reservation_.reset(); }
  Answer& answer() { return answer_; }

 private:
  CallResources& resources_;
  Principal principal_;
  PreparedCall prepared_;
  std::optional<std::string> request_id_;
  std::shared_ptr<const KeysInFlight::Key> reservation_;
  Answer answer_;
};

}  // namespace comptroller::service
