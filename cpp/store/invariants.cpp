#include "store/invariants.hpp"

#include <array>

#include "json/reader.hpp"
#include "model/error.hpp"
#include "store/columns.hpp"
#include "store/tables.hpp"

namespace comptroller::store {

namespace {

// An invariant, and a query for the keys of the rows that violate it.
struct Invariant {
  const char* check;
  const char* promise;
  const char* broken;
};

constexpr std::array<Invariant, 11> invariants{{
    {"controls", "one active control of a type and setter for an identity",
     "SELECT max(key) FROM controls WHERE deleted_at IS NULL"
     " GROUP BY identity_key, type, set_by HAVING count(*) > 1"},
    {"controls", "a control's identity exists, with the same id, customer and creation time",
     "SELECT c.key FROM controls AS c LEFT JOIN identities AS i ON i.key = c.identity_key"
     " WHERE i.key IS NULL OR i.id <> c.identity_id OR i.customer_id <> c.customer_id"
     " OR (c.deleted_at IS NULL AND i.created_at <> c.identity_created_at)"},
    {"controls",
     "covered_until is the latest end of a control and the earlier controls of its identity, type "
     "and setter",
     "SELECT key FROM (SELECT key, covered_until,"
     " max(coalesce(deleted_at, 9223372036854775807)) OVER"
     " (PARTITION BY identity_key, type, set_by ORDER BY created_at, key) AS until FROM controls)"
     " AS c WHERE covered_until <> until"},
    {"identities", "an implied identity without changes is as its first control created it",
     "SELECT i.key FROM identities AS i"
     " LEFT JOIN (SELECT identity_key, min(key) AS first_key FROM controls GROUP BY identity_key)"
     " AS f ON f.identity_key = i.key LEFT JOIN controls AS c ON c.key = f.first_key"
     " WHERE i.implied = 1 AND (i.metadata IS NOT NULL OR i.ref_id IS NOT NULL"
     " OR i.updated_at <> i.created_at OR c.created_at IS DISTINCT FROM i.created_at)"},
    {"claims", "a claim has its payout group's customer",
     "SELECT c.key FROM claims AS c JOIN payout_groups AS g ON g.id = c.payout_group_id"
     " WHERE g.customer_id <> c.customer_id"},
    {"claims", "a claim has its payout group's jurisdiction, unless a change is in progress",
     "SELECT c.key FROM claims AS c LEFT JOIN payout_groups AS g ON g.id = c.payout_group_id"
     " LEFT JOIN jurisdiction_changes AS j ON j.group_id = c.payout_group_id"
     " WHERE c.jurisdiction IS DISTINCT FROM g.jurisdiction AND (j.group_id IS NULL OR"
     " (c.created_at, c.key) <= (j.created_at, j.claim_key))"},
    {"payout_groups", "a group whose jurisdiction is changing exists",
     "SELECT group_id FROM jurisdiction_changes"
     " WHERE group_id NOT IN (SELECT id FROM payout_groups)"},
    {"payout_groups",
     "claim_all_confirmed_at is the latest confirmation of the group's CLAIM_ALL claims",
     "SELECT g.key FROM payout_groups AS g LEFT JOIN (SELECT c.payout_group_id,"
     " max(c.confirmed_at) AS confirmed_at FROM claims AS c JOIN symbols AS s"
     " ON s.key = c.claim_type WHERE c.onchain_status = 2 AND s.text = 'CLAIM_ALL'"
     " GROUP BY c.payout_group_id) AS c ON c.payout_group_id = g.id"
     " WHERE c.confirmed_at IS DISTINCT FROM g.claim_all_confirmed_at"},
    {"payout_groups", "last_claim_all_at is not before the group's confirmed CLAIM_ALL claims",
     "SELECT key FROM payout_groups WHERE claim_all_confirmed_at IS NOT NULL"
     " AND (last_claim_all_at IS NULL OR last_claim_all_at < claim_all_confirmed_at)"},
    {"reward_addresses", "an address has its payout group's customer and ledger",
     "SELECT a.key FROM reward_addresses AS a JOIN payout_groups AS g ON g.id = a.payout_group_id"
     " WHERE g.customer_id <> a.customer_id OR g.ledger <> a.ledger"},
    {"balances", "a balance's address exists",
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
  db::Query query = connection.query_many(invariant.broken);
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

// Checks that every row is a record that a load accepts: values within their limits, known codes
// and references.
template <Record R>
void check_rows(db::Connection& connection, std::vector<Finding>& findings) {
  json::Reader reader;
  json::UnknownMembers unknown;
  json::ReadOptions options;
  options.unknown = &unknown;
  const std::string table(R::table);
  db::Query rows =
      connection.query_many("SELECT " + select_list<R>() + ", key FROM " + table + " ORDER BY key");
  std::int64_t broken = 0;
  std::string first;
  std::string text;
  while (rows.step()) {
    try {
      text.clear();
      append_row<R>(text, rows, connection.symbols(), Audience::provider);
      R record{};
      reader.read(text, record, options);
    } catch (const Error& error) {
      if (problem(error.code()).status == 503) throw;  // not of the value
      if (broken++ > 0) continue;
      const std::int64_t key = rows.number(static_cast<int>(field_count<R>));
      first = "key " + std::to_string(key) + " (" + error.detail() + ")";
    }
  }
  add(findings, table, "every value is valid", broken, first);
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
