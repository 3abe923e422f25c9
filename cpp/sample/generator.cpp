#include "sample/generator.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "model/error.hpp"
#include "sample/line.hpp"
#include "sample/rows.hpp"

namespace comptroller::sample {
namespace {

constexpr std::uint64_t controls_of_claims(std::uint64_t claims) {
  return std::max<std::uint64_t>(10, claims / 100);
}

template <void (*Write)(const Setting&, Line&, std::uint64_t)>
WriteRow rows(const Setting& setting) {
  return [setting](Line& line, std::uint64_t index) { Write(setting, line, index); };
}

struct Kind {
  std::string_view name;
  WriteRow (*rows)(const Setting&);
  std::uint64_t (*count)(std::uint64_t claims);
};

// In the order of `kinds`. The factors are those by which rows find what they refer to.
constexpr std::array<Kind, 7> table{{
    {"identities", rows<write_identity>,
     [](std::uint64_t n) { return control_identities * controls_of_claims(n); }},
    {"controls", rows<write_control>, controls_of_claims},
    {"orchestrations", rows<write_orchestration>,
     [](std::uint64_t n) { return control_orchestrations * controls_of_claims(n); }},
    {"payout-groups", rows<write_group>, groups_of_claims},
    {"reward-addresses", rows<write_address>,
     [](std::uint64_t n) { return groups_of_claims(n) / ledgers * cluster_addresses; }},
    {"claims", claim_rows, [](std::uint64_t n) { return n; }},
    {"balances", rows<write_balance>,
     [](std::uint64_t n) { return groups_of_claims(n) / ledgers * cluster_addresses * snapshots; }},
}};

const Kind& find_kind(std::string_view name) {
  std::string known;
  for (const Kind& kind : table) {
    if (kind.name == name) return kind;
    known += known.empty() ? "" : ", ";
    known += kind.name;
  }
  throw Error::invalid("kind", "must be one of " + known);
}

void check_rows(std::uint64_t rows) {
  if (rows > max_rows) throw Error::invalid("rows", "must be at most " + std::to_string(max_rows));
}

std::string customer_member(std::string_view customer) {
  const auto allowed = [](char letter) { return letter > ' ' && letter < '\x7f'; };
  if (customer.size() > 128 || !std::all_of(customer.begin(), customer.end(), allowed)) {
    throw Error::invalid("customer", "must be 1 to 128 printable ASCII characters without space");
  }
  std::string member = R"("customer_id":")";
  for (const char letter : customer) {
    if (letter == '"' || letter == '\\') member += '\\';
    member += letter;
  }
  return member + "\",";
}

std::uint64_t customer_seed(std::uint64_t seed, std::string_view customer) {
  if (customer.empty() || customer == "default") return seed;
  for (const char letter : customer) seed = mix(seed ^ static_cast<unsigned char>(letter));
  return seed;
}

Setting setting_of(const Options& options) {
  check_rows(options.rows);
  const bool given = !options.customer.empty();
  const std::string member = customer_member(given ? options.customer : "default");
  return {customer_seed(options.seed, options.customer), options.rows, member,
          given ? member : std::string{}};
}

}  // namespace

Generator::Generator(const Options& options)
    : rows_(options.rows),
      write_row_(find_kind(options.kind).rows(setting_of(options))),
      spare_(max_line_bytes) {}

std::size_t Generator::read(char* out, std::size_t capacity) {
  std::size_t used = 0;
  while (used < capacity) {
    if (spare_at_ < spare_end_) {
      const std::size_t taken = std::min(spare_end_ - spare_at_, capacity - used);
      std::memcpy(out + used, spare_.data() + spare_at_, taken);
      spare_at_ += taken;
      used += taken;
    } else if (next_row_ == rows_) {
      break;
    } else {
      const bool fits = capacity - used >= max_line_bytes;
      char* const begin = fits ? out + used : spare_.data();
      Line line(begin);
      write_row_(line, next_row_++);
      const auto size = static_cast<std::size_t>(line.end() - begin);
      (fits ? used : spare_end_) = (fits ? used : 0) + size;
      if (!fits) spare_at_ = 0;
    }
  }
  return used;
}

std::uint64_t rows_for(std::string_view kind, std::uint64_t claims) {
  check_rows(claims);
  return find_kind(kind).count(claims);
}

}  // namespace comptroller::sample
