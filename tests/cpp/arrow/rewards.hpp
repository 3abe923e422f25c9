// A small store of claims for streams.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "arrow/stream.hpp"
#include "model/lists.hpp"
#include "store/claims.hpp"
#include "store/customers.hpp"
#include "store/records.hpp"
#include "store/writing.hpp"
#include "test_database.hpp"

namespace comptroller::arrow {

using Database = std::shared_ptr<db::Database>;

inline Database temporary_database() {
  return db::open_test_database();
}

template <Record R>
R owned_by_default(R record) {
  customer_of(record) = "default";
  return record;
}

inline Claim claim_at(std::int64_t instant) {
  Claim claim;
  claim.id = Id{"claim-" + std::to_string(instant)};
  claim.payout_group_id = GroupId{{"0190163d-8694-739b-aea5-966c26f8ad91"}};
  claim.claim_type = Word{"CLAIM_ALL"};
  claim.onchain_status = ClaimStatus::pending;
  claim.amount = NonNegativeAmount{std::to_string(instant) + ".5"};
  claim.created_at = Timestamp{instant};
  claim.updated_at = UpdatedAt{{instant}};
  return owned_by_default(claim);
}

inline void insert_claim(db::Connection& connection, const Claim& claim) {
  const std::array claims{store::NewClaim{&claim, std::nullopt}};
  store::Writing writing(connection);
  store::insert_many(writing, claims);
}

inline void add(const Database& database, const Claim& claim) {
  database->write([&](db::Connection& connection) {
    store::ensure_customer(connection, claim.customer_id->value);
    insert_claim(connection, claim);
  });
}

// Adds claims with keys and times 1 to `count`.
inline void add_claims(const Database& database, std::int64_t count) {
  database->write([&](db::Connection& connection) {
    store::ensure_customer(connection, "default");
    for (std::int64_t i = 1; i <= count; ++i) {
      insert_claim(connection, claim_at(i));
    }
  });
}

inline RowSource claims_of(const Database& database, const ListClaims& request = {}) {
  return {database,
          [request](db::Connection& connection) {
            return store::listing_for(connection, request,
                                      store::ownership(connection, std::nullopt), {});
          },
          [] {}};
}

}  // namespace comptroller::arrow
