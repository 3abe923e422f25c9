#include "sample/generator.hpp"

#include <algorithm>
#include <array>

#include "json/writer.hpp"
#include "model/records.hpp"
#include "sample/rows.hpp"

namespace comptroller::sample {
namespace {

using AppendRow = std::function<void(std::string& out, std::uint64_t index)>;

// Appends records as lines, with the customer if it is not empty.
template <class RecordAt>
AppendRow lines(RecordAt record_at, std::string customer) {
  return [record_at = std::move(record_at), customer = std::move(customer)](std::string& out,
                                                                            std::uint64_t index) {
    auto record = record_at(index);
    if constexpr (requires { record.customer_id; }) {
      if (!customer.empty()) customer_of(record) = customer;
    }
    json::append_record(out, record, Audience::provider);
    out += '\n';
  };
}

template <auto RecordAt>
AppendRow rows(const Setting& setting, std::string customer) {
  return lines([setting](std::uint64_t index) { return RecordAt(setting, index); },
               std::move(customer));
}

AppendRow claim_rows(const Setting& setting, std::string customer) {
  return lines(claims_of(setting), std::move(customer));
}

constexpr std::uint64_t controls_of(std::uint64_t claims) {
  return std::max<std::uint64_t>(10, claims / 100);
}
constexpr std::uint64_t addresses_of(std::uint64_t claims) {
  return groups_of_claims(claims) / ledgers * cluster_addresses;
}

struct Kind {
  std::string_view name;
  AppendRow (*rows)(const Setting& setting, std::string customer);
  std::uint64_t (*count)(std::uint64_t claims);
};

// The factors connect the rows of different kinds: a row finds the records that it names by them.
constexpr std::array<Kind, 7> kinds{{
    {"identities", rows<identity_at>,
     [](std::uint64_t claims) { return control_identities * controls_of(claims); }},
    {"controls", rows<control_at>, controls_of},
    {"orchestrations", rows<orchestration_at>,
     [](std::uint64_t claims) { return control_orchestrations * controls_of(claims); }},
    {"payout-groups", rows<group_at>, groups_of_claims},
    {"reward-addresses", rows<address_at>, addresses_of},
    {"claims", claim_rows, [](std::uint64_t claims) { return claims; }},
    {"balances", rows<balance_at>,
     [](std::uint64_t claims) { return snapshots * addresses_of(claims); }},
}};

const Kind& find_kind(std::string_view name) {
  std::string known;
  for (const Kind& kind : kinds) {
    if (kind.name == name) return kind;
    known += known.empty() ? "" : ", ";
    known += kind.name;
  }
  throw Error::invalid("kind", "must be one of " + known);
}

void check_rows(std::uint64_t rows) {
  if (rows > max_rows) throw Error::invalid("rows", "must be at most " + std::to_string(max_rows));
}

AppendRow rows_of(const Options& options) {
  check_rows(options.rows);
  const Kind& kind = find_kind(options.kind);
  if (options.customer.empty()) return kind.rows({options.seed, options.rows}, {});
  std::string customer = require_scalar<CustomerId>("customer", options.customer).value;
  std::uint64_t seed = options.seed;
  if (customer != "default") {
    for (const char letter : customer) seed = mix(seed ^ static_cast<unsigned char>(letter));
  }
  return kind.rows({seed, options.rows}, std::move(customer));
}

}  // namespace

Generator::Generator(const Options& options) : rows_(options.rows), append_row_(rows_of(options)) {}

std::size_t Generator::read(char* out, std::size_t capacity) {
  std::size_t used = 0;
  while (used < capacity) {
    if (read_of_line_ == line_.size()) {
      if (next_row_ == rows_) break;
      line_.clear();
      read_of_line_ = 0;
      append_row_(line_, next_row_++);
    }
    const std::size_t copied = line_.copy(out + used, capacity - used, read_of_line_);
    read_of_line_ += copied;
    used += copied;
  }
  return used;
}

std::uint64_t rows_for(std::string_view kind, std::uint64_t claims) {
  check_rows(claims);
  return find_kind(kind).count(claims);
}

}  // namespace comptroller::sample
