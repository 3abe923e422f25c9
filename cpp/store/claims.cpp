#include "store/claims.hpp"

#include <utility>

#include "model/ledger_address.hpp"
#include "model/lists.hpp"
#include "store/jurisdiction_changes.hpp"

namespace comptroller::store {

namespace {

// Adds the condition that one of the addresses of a claim is this one. The spellings of an EVM
// address differ in case only.
void filter_by_address(Listing& claims, std::string_view address) {
  const db::Dialect& dialect = claims.connection().dialect();
  const std::string folded = folded_address(address);
  std::string packed(packed_address_length, '\0');
  const bool is_evm = read_prefixed_hexadecimal(folded, packed_address_length, packed.data());
  const Value text = claims.own(folded);
  if (!is_evm) {
    claims.filter({std::string(dialect.has_address), {text}});
    return;
  }
  const Value bytes = Value::blob(claims.own(packed).bytes);
  claims.filter({std::string(dialect.has_evm_address), {bytes, bytes, text, text}});
}

// Adds the condition that a claim has this hash. The spellings of an EVM hash differ in case only.
// The spelling in lower case is stored as bytes, the others as text.
void filter_by_hash(Listing& claims, std::string_view hash) {
  const std::string folded = folded_hash(hash);
  std::string packed(TransactionHash::packed_length, '\0');
  const Value text = claims.own(folded);
  if (!TransactionHash::pack(folded, packed.data())) return claims.filter({"tx_hash = ?", {text}});
  claims.filter({std::string(claims.connection().dialect().has_hash),
                 {Value::blob(claims.own(packed).bytes), text}});
}

}  // namespace

Listing listing_for(db::Connection& connection, const ListClaims& request, Ownership ownership,
                    const ListUse& /*use*/) {
  ListClaims by_index = request;
  std::optional<Label> changing;  // the jurisdiction, while groups of the customers are changing
  if (by_index.jurisdiction && has_jurisdiction_changes(connection, ownership)) {
    changing = std::exchange(by_index.jurisdiction, std::nullopt);
  }
  auto listing = make_listing<Claim>(connection, by_index, std::move(ownership));
  if (changing) filter_by_jurisdiction(listing, *changing);
  if (request.tx_hash) filter_by_hash(listing, request.tx_hash->value);
  if (request.address) filter_by_address(listing, request.address->value);
  return listing;
}

std::vector<db::Insertion> insert_many(Changes& changes, std::span<const NewClaim> claims) {
  return insert_new_many<Claim>(
      changes, claims.size(), [&](std::size_t row) -> const Claim& { return *claims[row].claim; },
      [&](std::size_t row) { return claims[row].content; }, "jurisdiction",
      [&](std::size_t row, BoundValues&) { return nullable(claims[row].jurisdiction); });
}

void update_claim(Changes& changes, const Stored<Claim>& before, const Claim& after,
                  std::optional<std::int64_t> jurisdiction) {
  update(changes, before, after, {{"jurisdiction", nullable(jurisdiction)}});
}

}  // namespace comptroller::store
