// Claims: one run per ledger and day, each at its own hour, and manual claims between the runs.
#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "model/records/rewards.hpp"
#include "sample/rows.hpp"

namespace comptroller::sample {
namespace {

// A window of the day. `until_permille` is its end in thousandths of the day's claims,
// `until_minute` its end in minutes. A window with a ledger is the run of that ledger; in other
// windows claims are on any ledger.
struct Window {
  std::uint64_t until_permille;
  std::uint64_t until_minute;
  std::optional<Ledger> run;
};
constexpr std::array<Window, 11> windows{{{30, 120, {}},
                                          {390, 165, Ledger::ethereum},
                                          {410, 240, {}},
                                          {600, 262, Ledger::arbitrum_one},
                                          {620, 360, {}},
                                          {840, 391, Ledger::solana},
                                          {870, 540, {}},
                                          {920, 551, Ledger::ink},
                                          {950, 720, {}},
                                          {990, 729, Ledger::xlayer},
                                          {1000, 1440, {}}}};
constexpr std::array manual_ledgers{Ledger::ethereum, Ledger::solana, Ledger::arbitrum_one,
                                    Ledger::ink, Ledger::xlayer};
constexpr std::array manual_types{"CLAIM_SELECTED", "CLAIM_ALL", "SWEEP"};

// The time that each ledger takes to confirm, in blocks; in the order of Ledger.
struct Confirmation {
  std::uint32_t block_us;
  std::uint64_t min_blocks;
  std::uint64_t more_blocks;
};
constexpr std::array<Confirmation, ledgers> confirmations{
    {{12'000'000, 1, 16}, {400'000, 1, 49}, {250'000, 4, 30}, {250'000, 6, 56}, {250'000, 4, 48}}};

struct Failure {
  const char* message;
  bool is_submitted;
};
constexpr std::array<Failure, 8> evm_failures{
    {{"execution reverted: nothing to claim", false},
     {"insufficient funds for gas * price + value", false},
     {"nonce too low", false},
     {"execution reverted: caller is not the claimer of the group", true},
     {"transaction was not mined within 50 blocks", true},
     {"replacement transaction underpriced", false},
     {"out of gas", true},
     {"max fee per gas less than block base fee", false}}};
constexpr std::array<Failure, 5> solana_failures{
    {{"Blockhash not found", false},
     {"Transaction simulation failed: Error processing Instruction 2: custom program error: 0x1771",
      false},
     {"TransactionExpiredBlockheightExceededError: block height exceeded", true},
     {"Attempt to debit an account but found no record of a prior credit", false},
     {"Node is behind by 152 slots", false}}};

// Half of all claims name one address; a few name up to six.
constexpr std::array<std::uint8_t, 12> address_counts{1, 1, 1, 1, 1, 1, 2, 2, 3, 3, 4, 6};

struct ClaimTime {
  std::uint64_t us = 0;
  std::optional<Ledger> run;
};

// Maps the time of an evenly distributed claim to its time in the windows.
ClaimTime in_window(std::uint64_t even_us) {
  constexpr std::uint64_t permille_us = day_us / 1000;
  const std::uint64_t within_us = even_us % day_us;
  std::size_t at = 0;
  while (within_us >= windows[at].until_permille * permille_us) ++at;
  const Window& window = windows[at];
  const Window before = at == 0 ? Window{} : windows[at - 1];
  const std::uint64_t into_us = within_us - before.until_permille * permille_us;
  // A thousandth of a day's claims takes 1.44 minutes if they are evenly distributed.
  const std::uint64_t stretched_us = into_us * (window.until_minute - before.until_minute) * 1000 /
                                     1440 / (window.until_permille - before.until_permille);
  return {even_us - within_us + before.until_minute * minute_us + stretched_us, window.run};
}

// Returns the part of a year's rewards that a time earns, but not less than the least amount of the
// ledger.
std::string earned_amount(Int128 annual, std::uint64_t lasted_us, Ledger ledger) {
  const Int128 amount = annual * lasted_us / (Int128{365} * day_us);
  const int decimals = decimals_of(ledger);
  return amount_text(std::max(amount, Int128{power_of_ten(18 - decimals)}), decimals);
}

Addresses named_addresses(const Addresses& addresses, Random& random) {
  const std::size_t count = std::min<std::size_t>(random.any(address_counts), addresses.size());
  std::size_t at = random.below(static_cast<std::uint32_t>(addresses.size()));
  Addresses named;
  named.reserve(count);
  while (named.size() < count) named.push_back(addresses[at++ % addresses.size()]);
  return named;
}

struct ClaimingGroup {
  PayoutGroup group;
  std::string schedule;
  Addresses addresses;
  std::uint64_t number;  // the place of its group among all
  Int128 annual_rewards;
};

// Returns the groups of all clusters in order.
std::vector<ClaimingGroup> claiming_groups(std::uint64_t seed, std::uint64_t count) {
  std::vector<ClaimingGroup> claiming;
  for (std::uint64_t index = 0; index < count; ++index) {
    PayoutGroup group = group_at({seed, count}, index);
    if (group.onchain_status != Word{"REGISTERED"}) {
      claiming.push_back(claiming[index % ledgers]);
      continue;
    }
    std::string schedule = "daily-" + lower(enum_text(group.ledger));
    if (index / ledgers % 2 == 1)
      schedule += "-" + lower(group.jurisdiction.value_or(Term{}).value);
    Addresses addresses;
    const AddressRows rows = claiming_rows(index);
    for (std::uint64_t row = rows.first; row < rows.first + rows.count; ++row) {
      addresses.push_back(address_at({seed, count / ledgers * cluster_addresses}, row).address);
    }
    const Int128 annual = annual_rewards(seed, index, group);
    claiming.push_back(
        {std::move(group), std::move(schedule), std::move(addresses), index, annual});
  }
  return claiming;
}

// Sets the status that a claim has at the end of the period, and the members of that status.
void settle(Claim& claim, const Setting& setting, std::uint64_t index, Ledger ledger,
            Random& random) {
  const auto chain = static_cast<std::size_t>(ledger);
  const auto created_us = static_cast<std::uint64_t>(claim.created_at.microseconds);
  const std::uint64_t submitted_us = created_us + 150'000 + random.skewed(20 * second_us);
  const std::uint64_t younger = setting.rows - 1 - index;
  const std::uint32_t luck = random.below(1000);
  // On an incident day of a ledger many claims fail for the same reason.
  Random day(setting.seed, Stream::incident, created_us / day_us * ledgers + chain);
  const bool is_incident = day.chance(12);
  bool is_submitted = true;
  std::uint64_t updated_us = submitted_us;
  if (younger * 200 < setting.rows && luck < 800) {
    claim.onchain_status = ClaimStatus::pending;
    is_submitted = false;
    updated_us = created_us;
  } else if (younger * 60 < setting.rows && luck < 900) {
    claim.onchain_status = ClaimStatus::submitted;
  } else if (random.chance(is_incident ? 350 : 16)) {
    Random& cause = is_incident ? day : random;
    const Failure& failure =
        ledger == Ledger::solana ? cause.favour(solana_failures) : cause.favour(evm_failures);
    claim.onchain_status = ClaimStatus::failed;
    claim.error_message = Note{failure.message};
    is_submitted = failure.is_submitted;
    updated_us = (is_submitted ? submitted_us : created_us) + 200'000;
    updated_us += random.skewed(300 * second_us);
  } else {
    const Confirmation& confirmation = confirmations[chain];
    const std::uint64_t blocks = confirmation.min_blocks + random.skewed(confirmation.more_blocks);
    claim.onchain_status = ClaimStatus::confirmed;
    updated_us += blocks * confirmation.block_us + random.below(confirmation.block_us / 8);
    claim.confirmed_at = timestamp(updated_us);
  }
  claim.updated_at = {timestamp(updated_us)};
  if (!is_submitted) return;
  claim.submitted_at = timestamp(submitted_us);
  claim.tx_hash = TransactionHash{transaction_on(ledger, random)};
}

}  // namespace

std::function<Claim(std::uint64_t index)> claims_of(const Setting& setting) {
  const std::uint64_t count = groups_of_claims(setting.rows);
  const std::uint64_t days = std::clamp<std::uint64_t>(setting.rows / count / 2, 7, activity_days);
  const std::uint64_t begin_us = activity_ends_us - days * day_us;
  return [setting, begin_us, groups = claiming_groups(setting.seed, count),
          claimed_until_us =
              std::vector<std::uint64_t>(count, begin_us)](std::uint64_t index) mutable {
    Random random(setting.seed, Stream::claim, index);
    const ClaimTime created =
        in_window(spread_us(index, setting.rows, begin_us, activity_ends_us, random));
    const Ledger ledger = created.run ? *created.run : random.favour(manual_ledgers);
    const std::uint64_t cluster = random.skewed(groups.size() / ledgers);
    const auto& [group, schedule, addresses, number, annual] =
        groups[cluster * ledgers + static_cast<std::uint64_t>(ledger)];
    Claim claim;
    claim.id.value = uuid_at(created.us, random);
    claim.payout_group_id = group.id;
    claim.claim_type.value = created.run ? "CLAIM_ALL" : random.favour(manual_types);
    if (created.run) claim.claim_schedule_id = Term{schedule};
    std::uint64_t& claimed_us = claimed_until_us[number];
    claim.amount.text = earned_amount(annual, created.us - claimed_us, ledger);
    claim.addresses = named_addresses(addresses, random);
    claim.blockchain = Term{std::string(enum_text(ledger))};
    claim.asset_type = group.asset_type;
    claim.created_at = timestamp(created.us);
    settle(claim, setting, index, ledger, random);
    if (claim.onchain_status != ClaimStatus::failed) claimed_us = created.us;
    return claim;
  };
}

}  // namespace comptroller::sample
