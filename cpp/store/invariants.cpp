#include "store/invariants.hpp"

#include <array>

#include "json/reader.hpp"
#include "model/error.hpp"
#include "store/columns.hpp"

namespace comptroller::store {

namespace {

// A query for the keys of rows that break a promise.
struct Invariant {
  const char* check;
  const char* promise;
  const char* broken;
};

constexpr std::array<Invariant, 7> invariants{{
    {"controls", "one active control of a type and setter for an identity",
     "SELECT max(key) FROM controls WHERE deleted_at IS NULL"
     " GROUP BY identity_key, type, set_by HAVING count(*) > 1"},
    {"controls", "a control's identity is there, with its id, customer and creation time",
     "SELECT c.key FROM controls AS c LEFT JOIN identities AS i ON i.key = c.identity_key"
     " WHERE i.key IS NULL OR i.id <> c.identity_id OR i.customer_id <> c.customer_id"
     " OR i.created_at <> c.identity_created_at"},
    {"claims", "a claim has its payout group's customer",
     "SELECT c.key FROM claims AS c JOIN payout_groups AS g ON g.id = c.payout_group_id"
     " WHERE g.customer_id <> c.customer_id"},
    {"claims", "a claim carries its payout group's jurisdiction",
     "SELECT c.key FROM claims AS c LEFT JOIN payout_groups AS g ON g.id = c.payout_group_id"
     " WHERE c.jurisdiction IS NOT g.jurisdiction"},
    {"payout_groups", "last_claim_all_at is not before the group's confirmed CLAIM_ALL claims",
     "SELECT g.key FROM payout_groups AS g JOIN claims AS c ON c.payout_group_id = g.id"
     " JOIN symbols AS s ON s.key = c.claim_type"
     " WHERE c.onchain_status = 2 AND s.text = 'CLAIM_ALL'"
     " GROUP BY g.key HAVING max(c.confirmed_at) > coalesce(g.last_claim_all_at, -9e18)"},
    {"reward_addresses", "an address has its payout group's customer and ledger",
     "SELECT a.key FROM reward_addresses AS a JOIN payout_groups AS g ON g.id = a.payout_group_id"
     " WHERE g.customer_id <> a.customer_id OR g.ledger <> a.ledger"},
    {"balances", "a balance's address is there",
     "SELECT b.key FROM balances AS b LEFT JOIN reward_addresses AS a ON a.id = b.address_id"
     " WHERE a.key IS NULL"},
}};

void add(std::vector<Finding>& findings, const std::string& check, const std::string& promise,
         std::int64_t rows, const std::string& first) {
  if (rows == 0) return;
  findings.push_back({check, promise + ": broken by " + std::to_string(rows) +
                                 (rows == 1 ? " row" : " rows") + ", first " + first});
}

void check_invariant(db::Connection& connection, const Invariant& invariant,
                     std::vector<Finding>& findings) {
  db::Query query = connection.query(invariant.broken);
  std::int64_t rows = 0;
  std::string first;
  while (query.step()) {
    if (rows++ == 0) first = "key " + std::to_string(query.column(0).integer);
  }
  add(findings, invariant.check, invariant.promise, rows, first);
}

template <Record R>
void check_customers(db::Connection& connection, std::vector<Finding>& findings) {
  if constexpr (requires(R record) { record.customer_id; }) {
    const std::string table(R::table);
    const std::string broken =
        "SELECT key FROM " + table + " WHERE customer_id NOT IN (SELECT key FROM customers)";
    check_invariant(connection, {table.c_str(), "every customer is known", broken.c_str()},
                    findings);
  }
}

// Every row reads back as a record that a load would take: all values within their limits, all
// codes and references resolved.
template <Record R>
void check_rows(db::Connection& connection, std::vector<Finding>& findings) {
  json::Reader reader;
  json::UnknownMembers unknown;
  json::ReadOptions options;
  options.unknown = &unknown;
  const std::string table(R::table);
  db::Query rows =
      connection.query("SELECT " + select_list<R>() + ", key FROM " + table + " ORDER BY key");
  std::int64_t broken = 0;
  std::string first;
  std::string text;
  while (rows.step()) {
    try {
      text.clear();
      append_row<R>(text, rows, connection.symbols(), json::Audience::provider);
      R record{};
      reader.read(text, record, options);
    } catch (const Error& error) {
      if (broken++ > 0) continue;
      const auto key = rows.column(static_cast<int>(R::fields::count)).integer;
      first = "key " + std::to_string(key) + " (" + error.detail() + ")";
    }
  }
  add(findings, table, "every value is one that may be stored", broken, first);
}

}  // namespace

std::vector<Finding> broken_invariants(db::Connection& connection) {
  std::vector<Finding> findings;
  for (const Invariant& invariant : invariants) check_invariant(connection, invariant, findings);
  for_each_table([&]<class R>() {
    check_customers<R>(connection, findings);
    check_rows<R>(connection, findings);
  });
  return findings;
}

std::vector<std::pair<std::string_view, std::int64_t>> table_sizes(db::Connection& connection) {
  std::vector<std::pair<std::string_view, std::int64_t>> sizes;
  for_each_table([&]<class R>() {
    db::Query query = connection.query("SELECT count(*) FROM " + std::string(R::table));
    sizes.emplace_back(R::table, query.step() ? query.column(0).integer : 0);
  });
  return sizes;
}

}  // namespace comptroller::store
