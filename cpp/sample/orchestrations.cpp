// Orchestrations: sales, purchases, deposits, withdrawals and transfers between profiles.
#include "model/records/orchestrations.hpp"

#include <algorithm>
#include <array>

#include "model/records/identities.hpp"
#include "sample/rows.hpp"

namespace comptroller::sample {
namespace {

enum class Side : std::uint8_t { crypto, fiat, profile };

struct Flow {
  Side source;
  Side destination;
};
using enum Side;
constexpr std::array<Flow, 7> flows{{{fiat, profile},
                                     {crypto, profile},
                                     {crypto, fiat},
                                     {profile, crypto},
                                     {profile, fiat},
                                     {fiat, crypto},
                                     {profile, profile}}};

struct Asset {
  const char* name;
  int decimals;
  std::uint32_t most;  // maximum units of one orchestration, about 40,000 dollars
  Ledger ledger = Ledger::ethereum;
};
constexpr std::array<Asset, 5> crypto_assets{{{"USDC", 6, 40'000},
                                              {"ETH", 18, 12},
                                              {"SOL", 9, 250, Ledger::solana},
                                              {"ARB", 18, 80'000, Ledger::arbitrum_one},
                                              {"OKB", 18, 700, Ledger::xlayer}}};
constexpr std::array<Asset, 4> fiat_assets{
    {{"USD", 2, 40'000}, {"EUR", 2, 36'000}, {"GBP", 2, 31'000}, {"CHF", 2, 34'000}}};

// The statuses of an orchestration and of its two transfers.
struct Statuses {
  const char* whole;
  const char* source;
  const char* destination;
};
constexpr Statuses completed{"COMPLETED", "COMPLETED", "COMPLETED"};
constexpr std::array<Statuses, 4> processing{{{"PROCESSING", "PENDING", "PENDING"},
                                              {"PROCESSING", "PROCESSING", "PENDING"},
                                              {"PROCESSING", "COMPLETED", "PENDING"},
                                              {"PROCESSING", "COMPLETED", "PROCESSING"}}};
constexpr Statuses source_failed{"FAILED", "FAILED", "PENDING"};
constexpr Statuses destination_failed{"FAILED", "COMPLETED", "FAILED"};
constexpr std::array source_failures{"Insufficient balance on the source account",
                                     "Deposit was not received within 72 hours",
                                     "Amount is below the network minimum"};
constexpr std::array destination_failures{"Bank account was closed",
                                          "Destination address failed screening",
                                          "Beneficiary name does not match the account"};
constexpr std::array memos{"Invoice ", "Payroll ", "Top-up ", "Settlement "};
constexpr std::array channels{"api", "app", "rule"};
constexpr std::uint64_t rules = 40;

struct Owner {
  Id identity_id;
  Id profile_id;
  Id account_id;
};

Owner owner_at(const Setting& identities, std::uint64_t index) {
  const StoredIdentity identity = identity_at(identities, index);
  const auto created_us = static_cast<std::uint64_t>(identity.created_at.microseconds);
  Random random(identities.seed, Stream::owner, index);
  return {identity.id,
          {uuid_at(created_us + second_us, random)},
          {uuid_at(created_us + 2 * second_us, random)}};
}

// Sets the statuses: most recent orchestrations and a few older ones are in progress.
void progress(Orchestration& orchestration, bool is_recent, std::uint64_t created_us,
              Random& random) {
  Statuses statuses = completed;
  if (random.chance(is_recent ? 850 : 3)) {
    statuses = random.any(processing);
  } else if (random.chance(50)) {
    const bool at_source = random.chance(500);
    statuses = at_source ? source_failed : destination_failed;
    orchestration.fail_reason = FailReason{
        Note{at_source ? random.any(source_failures) : random.any(destination_failures)}};
  }
  orchestration.status = {statuses.whole};
  orchestration.source_transfer =
      Transfer{Label{uuid_at(created_us, random)}, Word{statuses.source}};
  orchestration.destination_transfer =
      Transfer{Label{uuid_at(created_us, random)}, Word{statuses.destination}};
}

// A Source or Destination.
template <class Endpoint>
Endpoint endpoint(Side side, const Asset& asset, const Id& profile_id, Random& random) {
  const std::uint64_t known_us = activity_begins_us - random.skewed(90 * day_us);
  Endpoint made;
  if (side == crypto) {
    made.crypto =
        CryptoEndpoint{Label{uuid_at(known_us, random)}, Label{address_on(asset.ledger, random)},
                       Label{lower(enum_text(asset.ledger))}};
  } else if (side == fiat) {
    auto& [account, memo] = made.fiat.emplace();
    account = Label{uuid_at(known_us, random)};
    const std::uint32_t number = 100'000 + random.below(900'000);
    if (random.chance(600)) memo = Note{random.any(memos) + std::to_string(number)};
  } else {
    made.profile = ProfileEndpoint{profile_id};
  }
  return made;
}

}  // namespace

Orchestration orchestration_at(const Setting& setting, std::uint64_t index) {
  Random random(setting.seed, Stream::orchestration, index);
  const std::uint64_t controls =
      (setting.rows + control_orchestrations - 1) / control_orchestrations;
  const Setting identities{setting.seed, controls * control_identities};
  const Owner owner = owner_at(identities, random.skewed(identities.rows));
  const Flow flow = random.favour(flows);
  const Asset& coin = random.favour(crypto_assets);
  const Asset& money = random.favour(fiat_assets);
  const Asset& from = flow.source == fiat ? money : coin;
  const Asset& to = flow.destination == fiat ? money : coin;
  const std::uint64_t created_us =
      spread_us(index, setting.rows, activity_begins_us, activity_ends_us, random);
  Orchestration made;
  made.id.value = uuid_at(created_us, random);
  made.profile_id = owner.profile_id;
  made.identity_id = owner.identity_id;
  made.account_id = owner.account_id;
  made.customer_id.value = "default";
  if (random.chance(700)) made.ref_id = Label{"order-" + std::to_string(index + 1)};
  made.source_asset = Term{from.name};
  made.destination_asset = Term{to.name};
  made.source_amount = Amount{amount_text(amount_below(from.most, random), from.decimals)};
  progress(made, (setting.rows - 1 - index) * 100 < setting.rows, created_us, random);
  made.source = endpoint<Source>(flow.source, from, owner.profile_id, random);
  const bool is_move = flow.source == profile && flow.destination == profile;
  made.destination = endpoint<Destination>(
      flow.destination, to,
      is_move ? owner_at(identities, random.skewed(identities.rows)).profile_id : owner.profile_id,
      random);
  if (random.chance(400)) {
    const std::uint64_t number = random.skewed(rules);
    Random rule(setting.seed, Stream::rule, number);
    made.orchestration_rule_id = Id{uuid_at(activity_begins_us - number * day_us, rule)};
  }
  made.created_at = timestamp(created_us);
  const std::uint64_t max_us = std::min(2 * day_us, activity_ends_us - created_us);
  made.updated_at = {timestamp(created_us + random.skewed(max_us))};
  if (random.chance(350)) {
    made.metadata = Metadata{
        {{"channel", random.favour(channels)}, {"batch", "B" + std::to_string(index / 100)}}};
  }
  return made;
}

}  // namespace comptroller::sample
