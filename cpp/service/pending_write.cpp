#include "service/pending_write.hpp"

#include <sodium.h>

#include <array>

#include "model/error.hpp"
#include "service/operations.hpp"

namespace comptroller::service {

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

namespace {

// A BLAKE2b hash of 16 bytes under a key of zeros, as in the stores of all versions.
std::string fingerprint_of(std::string_view request) {
  constexpr std::array<unsigned char, crypto_generichash_KEYBYTES> key{};
  std::array<unsigned char, 16> hash{};
  crypto_generichash(hash.data(), hash.size(),
                     reinterpret_cast<const unsigned char*>(request.data()), request.size(),
                     key.data(), key.size());
  return {reinterpret_cast<const char*>(hash.data()), hash.size()};
}

PreparedCall prepare(const Operation& operation, const Principal& principal, const Call& call) {
  if (operation.is_write) return operation.prepare(operation, principal, call);
  throw Error::invalid("operation", operation.name + " does not write");
}

}  // namespace

PendingWrite::PendingWrite(Service& service, Principal principal, const Operation& operation,
                           const Call& call)
    : service_(service),
      principal_(std::move(principal)),
      prepared_(prepare(operation, principal_, call)) {
  if (!call.idempotency_key) return;
  reservation_ = service.keys_in_flight().reserve(
      {principal_.customer.value_or(""), operation.name, *call.idempotency_key});
}

void PendingWrite::run(db::Connection& connection) {
  if (!reservation_) {
    answer_ = {prepared_.run(service_, principal_, connection), false};
    return;
  }
  const store::IdempotencyKey& key = *reservation_;
  const std::string fingerprint = fingerprint_of(prepared_.canonical_request);
  const Timestamp now = service_.environment().now();
  if (auto stored = store::find_answer(connection, key, now)) {
    if (stored->fingerprint != fingerprint) {
      throw Error(Code::idempotency_key_reused,
                  "the key was used for another request in the last 24 hours");
    }
    answer_ = {std::move(stored->answer), true};
    return;
  }
  answer_ = {prepared_.run(service_, principal_, connection), false};
  store::keep_answer(connection, key, {fingerprint, answer_.body}, now);
  if (store::delete_expired_answers(connection, now)) service_.background().start();
}

}  // namespace comptroller::service
