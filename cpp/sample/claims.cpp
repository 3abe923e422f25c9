// Claims: once a day a run over every chain at its own hour, and some claims by hand between the
// runs.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "sample/rows.hpp"

namespace comptroller::sample {
namespace {

using namespace std::string_view_literals;

// A day's claims, in thousandths, and when they are made. Outside the runs any ledger has its turn.
struct Stretch {
  std::uint64_t until_permille = 0;
  std::uint64_t from_minute = 0;
  std::uint64_t until_minute = 0;
  std::optional<Ledger> run;
};
constexpr std::array<Stretch, 11> day_plan{{{30, 0, 120, std::nullopt},
                                            {390, 120, 165, Ledger::ethereum},
                                            {410, 165, 240, std::nullopt},
                                            {600, 240, 262, Ledger::arbitrum_one},
                                            {620, 262, 360, std::nullopt},
                                            {840, 360, 391, Ledger::solana},
                                            {870, 391, 540, std::nullopt},
                                            {920, 540, 551, Ledger::ink},
                                            {950, 551, 720, std::nullopt},
                                            {990, 720, 729, Ledger::xlayer},
                                            {1000, 729, 1440, std::nullopt}}};
constexpr std::array by_hand_ledgers{Ledger::ethereum, Ledger::solana, Ledger::arbitrum_one,
                                     Ledger::ink, Ledger::xlayer};
constexpr std::array by_hand_types{"CLAIM_SELECTED"sv, "CLAIM_ALL"sv, "SWEEP"sv};

// How long a chain takes to confirm: some of its steps, and a little more.
struct Pace {
  std::uint64_t step_us;
  std::uint64_t least_steps;
  std::uint64_t more_steps;
};
constexpr std::array<Pace, ledgers> paces{{{12 * second_us, 1, 16},
                                           {400'000, 1, 49},
                                           {250'000, 4, 30},
                                           {250'000, 6, 56},
                                           {250'000, 4, 48}}};

struct Failure {
  std::string_view message;
  bool after_submission;
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

// Half of all claims name one address, a few up to six.
constexpr std::array<std::uint8_t, 12> address_counts{1, 1, 1, 1, 1, 1, 2, 2, 3, 3, 4, 6};
constexpr std::size_t tickets = 4096;

struct ClaimingGroup {
  Uuid id;
  Ledger ledger;
  std::string_view asset_type;
  std::string schedule;
  std::vector<LedgerAddress> addresses;
};

struct Moment {
  std::uint64_t created_us = 0;
  std::uint64_t day = 0;
  std::optional<Ledger> run;
};

struct Course {
  ClaimStatus status = ClaimStatus::confirmed;
  std::uint64_t submitted_us = 0;  // 0: never
  std::uint64_t updated_us = 0;
  std::string_view error_message;
};

class Claims {
 public:
  explicit Claims(const Setting& setting);
  void write(Line& line, std::uint64_t index) const;

 private:
  Moment moment_of(std::uint64_t index, Dice& dice) const;
  Course course_of(std::uint64_t index, const Moment& moment, Ledger ledger, Dice& dice) const;
  void fail(Course& course, const Moment& moment, Ledger ledger, bool incident, Dice& dice) const;

  Setting setting_;
  std::uint64_t days_;
  std::vector<ClaimingGroup> groups_;  // clusters in turn, a group of each ledger in each
  std::array<std::uint8_t, tickets>
      draw_{};  // a cluster; the n-th most active has 1/n of the tickets
};

std::string lower(std::string_view text) {
  std::string lowered(text);
  for (char& letter : lowered) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    if (letter == '_') letter = '-';
  }
  return lowered;
}

ClaimingGroup claiming_group(const Setting& setting, std::uint64_t groups, std::uint64_t index) {
  Group group = group_at(setting.seed, groups, index);
  if (group.onchain_status != "REGISTERED") return claiming_group(setting, groups, index % ledgers);
  ClaimingGroup claiming{
      group.id, group.ledger, group.asset_type, "daily-" + lower(word(group.ledger)), {}};
  if (index / ledgers % 2 == 1) claiming.schedule += "-" + lower(group.jurisdiction);
  const std::uint64_t addresses = groups / ledgers * cluster_addresses;
  for (std::uint64_t slot = 0; slot < claiming_addresses(index); ++slot) {
    claiming.addresses.push_back(
        address_at(setting.seed, addresses, address_row(index, slot)).address);
  }
  return claiming;
}

Claims::Claims(const Setting& setting) : setting_(setting) {
  const std::uint64_t count = groups_of_claims(setting.rows);
  days_ = std::clamp<std::uint64_t>(setting.rows / count / 2, 7, activity_days);
  groups_.reserve(count);
  for (std::uint64_t index = 0; index < count; ++index) {
    groups_.push_back(claiming_group(setting, count, index));
  }
  const std::uint64_t clusters = count / ledgers;
  std::uint64_t total = 0;
  for (std::uint64_t rank = 1; rank <= clusters; ++rank) total += tickets * tickets / rank;
  std::uint64_t rank = 1;
  std::uint64_t reached = tickets * tickets;
  for (std::size_t ticket = 0; ticket < tickets; ++ticket) {
    while (ticket * total / tickets >= reached) reached += tickets * tickets / ++rank;
    draw_[ticket] = static_cast<std::uint8_t>(rank * 101 % clusters);
  }
}

// Rows fill the days evenly, and each day by its plan. The fractions keep 20 bits below a row and
// 29 of a day, so that nothing leaves 64 bits up to max_rows.
Moment Claims::moment_of(std::uint64_t index, Dice& dice) const {
  const std::uint64_t position = ((index << 20) | (dice.next() >> 44)) * days_;
  const std::uint64_t day = position / (setting_.rows << 20);
  const std::uint64_t within = (position % (setting_.rows << 20) << 9) / setting_.rows;
  std::uint64_t begin = 0;
  std::size_t at = 0;
  const auto end_of = [](const Stretch& stretch) { return (stretch.until_permille << 29) / 1000; };
  while (within >= end_of(day_plan[at])) begin = end_of(day_plan[at++]);
  const Stretch& stretch = day_plan[at];
  const std::uint64_t from_us = stretch.from_minute * 60 * second_us;
  const std::uint64_t quarter_us = (stretch.until_minute * 60 * second_us - from_us) / 4;
  const std::uint64_t into_us = (within - begin) * quarter_us / (end_of(stretch) - begin) * 4;
  return {activity_ends_us - (days_ - day) * day_us + from_us + into_us, day, stretch.run};
}

void Claims::fail(Course& course, const Moment& moment, Ledger ledger, bool incident,
                  Dice& dice) const {
  Dice cause(setting_.seed, Stream::incident, moment.day);
  Dice& thrown = incident ? cause : dice;  // an incident's failures are all alike
  const Failure& failure =
      ledger == Ledger::solana ? thrown.favour(solana_failures) : thrown.favour(evm_failures);
  course.status = ClaimStatus::failed;
  course.error_message = failure.message;
  if (!failure.after_submission) course.submitted_us = 0;
  const std::uint64_t since_us = failure.after_submission ? course.submitted_us : moment.created_us;
  course.updated_us = since_us + 200'000 + dice.skewed(300 * second_us);
}

Course Claims::course_of(std::uint64_t index, const Moment& moment, Ledger ledger,
                         Dice& dice) const {
  Course course;
  course.submitted_us = moment.created_us + 150'000 + dice.skewed(20 * second_us);
  const std::uint64_t younger = setting_.rows - 1 - index;
  const std::uint32_t luck = dice.below(1000);
  if (younger * 200 < setting_.rows && luck < 800) {
    course.status = ClaimStatus::pending;
    course.submitted_us = 0;
    course.updated_us = moment.created_us;
    return course;
  }
  if (younger * 60 < setting_.rows && luck < 900) {
    course.status = ClaimStatus::submitted;
    course.updated_us = course.submitted_us;
    return course;
  }
  Dice fate(setting_.seed, Stream::incident,
            moment.day * ledgers + static_cast<std::uint64_t>(ledger));
  const bool incident = fate.chance(12);
  if (dice.chance(incident ? 350 : 16)) {
    fail(course, moment, ledger, incident, dice);
    return course;
  }
  const Pace& pace = paces[static_cast<std::size_t>(ledger)];
  const std::uint64_t steps = pace.least_steps + dice.skewed(pace.more_steps);
  course.updated_us = course.submitted_us + steps * pace.step_us +
                      dice.below(static_cast<std::uint32_t>(pace.step_us / 8));
  return course;
}

void write_amount(Line& line, Ledger ledger, Dice& dice) {
  const int decimals = decimals_of(ledger);
  const int magnitude = static_cast<int>(dice.below(5) + dice.below(5)) - 5;
  if (magnitude >= 0) {
    const std::uint64_t least = power_of_ten(magnitude);
    const std::uint64_t units = dice.between(least, 10 * least);
    line.amount("amount", units, dice.next() % power_of_ten(decimals), decimals);
  } else {
    const std::uint64_t least = power_of_ten(decimals + magnitude);
    line.amount("amount", 0, dice.between(least, 10 * least), decimals);
  }
}

void write_transaction(Line& line, Ledger ledger, Dice& dice) {
  line.key("tx_hash");
  line.quote();
  if (ledger == Ledger::solana) {
    line.base58(dice, 4, 88);
  } else {
    line.text("0x");
    for (int part = 0; part < 4; ++part) line.hex(dice.next(), 8);
  }
  line.end_string();
}

void write_addresses(Line& line, const std::vector<LedgerAddress>& addresses, Dice& dice) {
  const auto size = static_cast<std::uint32_t>(addresses.size());
  const std::uint32_t count = std::min<std::uint32_t>(dice.any(address_counts), size);
  std::uint32_t at = dice.below(size);
  line.text("\"addresses\":[");
  for (std::uint32_t left = count; left > 0; --left) {
    line.quote();
    line.text(addresses[at].text());
    line.text(left > 1 ? "\"," : "\"],");
    at = at + 1 == size ? 0 : at + 1;
  }
}

void Claims::write(Line& line, std::uint64_t index) const {
  Dice dice(setting_.seed, Stream::claim, index);
  const Moment moment = moment_of(index, dice);
  const Ledger ledger = moment.run ? *moment.run : dice.favour(by_hand_ledgers);
  const std::uint64_t cluster = draw_[dice.below(tickets)];
  const ClaimingGroup& group = groups_[cluster * ledgers + static_cast<std::uint64_t>(ledger)];
  const Course course = course_of(index, moment, ledger, dice);
  line.uuid("id", uuid_at(moment.created_us, dice.next()));
  line.uuid("payout_group_id", group.id);
  line.string("claim_type", moment.run ? "CLAIM_ALL"sv : dice.favour(by_hand_types));
  if (moment.run) line.string("claim_schedule_id", group.schedule);
  line.string("onchain_status", word(course.status));
  write_amount(line, ledger, dice);
  if (course.submitted_us != 0) write_transaction(line, ledger, dice);
  write_addresses(line, group.addresses, dice);
  if (!course.error_message.empty()) line.string("error_message", course.error_message);
  line.string("blockchain", word(ledger));
  line.string("asset_type", group.asset_type);
  if (course.submitted_us != 0) line.time("submitted_at", course.submitted_us);
  if (course.status == ClaimStatus::confirmed) line.time("confirmed_at", course.updated_us);
  line.time("created_at", moment.created_us);
  line.time("updated_at", course.updated_us);
  line.text(setting_.given_customer);
}

}  // namespace

WriteRow claim_rows(const Setting& setting) {
  return [claims = Claims(setting)](Line& line, std::uint64_t index) { claims.write(line, index); };
}

}  // namespace comptroller::sample
