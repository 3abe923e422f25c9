#include "store/claims.hpp"

namespace comptroller::store {

namespace {

Value nullable(std::optional<std::int64_t> symbol) {
  return symbol ? Value::of(*symbol) : Value::null();
}

}  // namespace

Listing claims_listing(db::Connection& connection, const ListClaims& request, Ownership ownership) {
  return make_listing<Claim>(connection, request, std::move(ownership));
}

bool insert_claim(db::Connection& connection, const Claim& claim,
                  std::optional<std::int64_t> jurisdiction) {
  return insert_new(connection, claim, {{"jurisdiction", nullable(jurisdiction)}}).has_value();
}

void update_claim(db::Connection& connection, std::int64_t key, const Claim& claim,
                  std::optional<std::int64_t> jurisdiction) {
  update(connection, key, claim, {{"jurisdiction", nullable(jurisdiction)}});
}

}  // namespace comptroller::store
