#include "service/pending_write.hpp"

#include <sodium.h>

#include <array>
#include <utility>

#include "model/error.hpp"
#include "service/operation.hpp"

namespace comptroller::service {

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

// Whether a rule refused the request, so that its transaction can go on. The reason may be the
// effect of an equal request that another server executed meanwhile.
bool is_refusal(const Error& error) {
  constexpr int first_of_server = 500;
  return problem(error.code()).status < first_of_server;
}

}  // namespace

PendingWrite::PendingWrite(CallResources& resources, Principal principal, const Call& call)
    : resources_(resources),
      principal_(std::move(principal)),
      prepared_(call.operation->prepare(*call.operation, principal_, call)),
      request_id_(call.request_id) {
  if (!call.idempotency_key) return;
  reservation_ = resources.keys_in_flight.reserve(
      {principal_.customer.value_or(""), call.operation->name, *call.idempotency_key});
}

void PendingWrite::run(db::Connection& connection) {
  store::Origin origin{.request_id = request_id_};
  if (!reservation_) {
    answer_ = {resources_.write(prepared_, principal_, connection, std::move(origin)), false};
    return;
  }
  const store::IdempotencyKey& key = *reservation_;
  const std::string fingerprint = fingerprint_of(prepared_.canonical_request);
  const Timestamp now = resources_.environment.now();
  if (auto stored = store::find_answer(connection, key, now)) {
    if (stored->fingerprint != fingerprint) {
      throw Error(Code::idempotency_key_reused,
                  "the key was used for another request in the last 24 hours");
    }
    answer_ = {std::move(stored->answer), true};
    return;
  }
  origin.idempotency_key = journal::bytes_of(journal::sha256(key.key));
  try {
    answer_ = {resources_.write(prepared_, principal_, connection, std::move(origin)), false};
  } catch (const Error& error) {
    if (!connection.locks_rows() || !is_refusal(error)) throw;
    if (!store::find_answer(connection, key, now)) throw;
    throw db::Conflict(Code::internal, "the key was used by another write");
  }
  store::keep_answer(connection, key, {fingerprint, answer_.body}, now);
  if (store::delete_expired_answers(connection, now)) resources_.background.start();
}

std::exception_ptr PendingWrite::failure_of_repetition(const std::exception_ptr& first,
                                                       const std::exception_ptr& repetition) {
  try {
    std::rethrow_exception(repetition);
  } catch (const Error& error) {
    return is_refusal(error) ? repetition : first;
  } catch (const std::bad_alloc&) {
    return first;
  } catch (...) {
    return repetition;
  }
}

}  // namespace comptroller::service
