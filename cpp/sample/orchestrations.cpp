// Orchestrations: sales, purchases, deposits, withdrawals and moves between profiles.
#include <algorithm>
#include <array>

#include "sample/rows.hpp"

namespace comptroller::sample {
namespace {

using namespace std::string_view_literals;

enum class Side : std::uint8_t { crypto, fiat, profile };

struct Flow {
  Side source;
  Side destination;
};
constexpr std::array<Flow, 7> flows{{{Side::fiat, Side::profile},
                                     {Side::crypto, Side::profile},
                                     {Side::crypto, Side::fiat},
                                     {Side::profile, Side::crypto},
                                     {Side::profile, Side::fiat},
                                     {Side::fiat, Side::crypto},
                                     {Side::profile, Side::profile}}};

struct Asset {
  std::string_view name;
  int decimals;
  std::uint32_t most;  // units in one orchestration, about 40,000 dollars
  Ledger ledger;
  std::string_view network;
};
constexpr std::array<Asset, 5> crypto_assets{
    {{"USDC", 6, 40'000, Ledger::ethereum, "ethereum"},
     {"ETH", 18, 12, Ledger::ethereum, "ethereum"},
     {"SOL", 9, 250, Ledger::solana, "solana"},
     {"ARB", 18, 80'000, Ledger::arbitrum_one, "arbitrum_one"},
     {"OKB", 18, 700, Ledger::xlayer, "xlayer"}}};
constexpr std::array<Asset, 4> fiat_assets{{{"USD", 2, 40'000, Ledger::ethereum, ""},
                                            {"EUR", 2, 36'000, Ledger::ethereum, ""},
                                            {"GBP", 2, 31'000, Ledger::ethereum, ""},
                                            {"CHF", 2, 34'000, Ledger::ethereum, ""}}};

struct Course {
  std::string_view status;
  std::string_view source;
  std::string_view destination;
};
constexpr Course completed{"COMPLETED", "COMPLETED", "COMPLETED"};
constexpr std::array<Course, 4> processing{{{"PROCESSING", "PENDING", "PENDING"},
                                            {"PROCESSING", "PROCESSING", "PENDING"},
                                            {"PROCESSING", "COMPLETED", "PENDING"},
                                            {"PROCESSING", "COMPLETED", "PROCESSING"}}};
constexpr std::array<Course, 2> failed{
    {{"FAILED", "FAILED", "PENDING"}, {"FAILED", "COMPLETED", "FAILED"}}};
constexpr std::array source_failures{"Insufficient balance on the source account"sv,
                                     "Deposit was not received within 72 hours"sv,
                                     "Amount is below the network minimum"sv};
constexpr std::array destination_failures{"Bank account was closed"sv,
                                          "Destination address failed screening"sv,
                                          "Beneficiary name does not match the account"sv};
constexpr std::array memos{"Invoice "sv, "Payroll "sv, "Top-up "sv, "Settlement "sv};
constexpr std::array channels{"api"sv, "app"sv, "rule"sv};
constexpr std::uint64_t rules = 40;

// The two years' last rows are under way, and now and then an older one is.
Course course_of(const Setting& setting, std::uint64_t index, Dice& dice) {
  const bool recent = (setting.rows - 1 - index) * 100 < setting.rows;
  if (dice.chance(recent ? 850 : 3)) return dice.any(processing);
  return dice.chance(50) ? dice.any(failed) : completed;
}

void write_side(Line& line, std::string_view name, Side side, const Asset& asset, Uuid profile,
                Dice dice) {
  const std::uint64_t known_us = activity_begins_us - dice.skewed(90 * day_us);
  const Uuid endpoint = uuid_at(known_us, dice.next());
  line.open(name);
  if (side == Side::crypto) {
    line.open("crypto");
    line.uuid("address_id", endpoint);
    line.string("address", draw_address(dice, asset.ledger).text());
    line.string("network", asset.network);
  } else if (side == Side::fiat) {
    line.open("fiat");
    line.uuid(name == "source" ? "deposit_instructions_id" : "bank_account_id", endpoint);
    const std::uint32_t number = dice.below(1'000'000);
    if (dice.chance(600)) line.numbered("memo", dice.any(memos), number, 6);
  } else {
    line.open("profile");
    line.uuid("profile_id", profile);
  }
  line.close();
  line.close();
}

void write_transfer(Line& line, std::string_view name, std::string_view status, Uuid id) {
  line.open(name);
  line.uuid("transfer_id", id);
  line.string("status", status);
  line.close();
}

void write_course(Line& line, const Course& course, std::uint64_t created_us, Dice& dice) {
  write_transfer(line, "source_transfer", course.source, uuid_at(created_us, dice.next()));
  write_transfer(line, "destination_transfer", course.destination,
                 uuid_at(created_us, dice.next()));
  line.string("status", course.status);
  if (course.status == "FAILED") {
    line.open("fail_reason");
    line.string("detail", course.source == "FAILED" ? dice.any(source_failures)
                                                    : dice.any(destination_failures));
    line.close();
  }
}

void write_origin(const Setting& setting, Line& line, std::uint64_t index, Dice& dice) {
  if (dice.chance(400)) {
    const std::uint64_t number = dice.skewed(rules);
    Dice rule(setting.seed, Stream::rule, number);
    line.uuid("orchestration_rule_id", uuid_at(activity_begins_us - number * day_us, rule.next()));
  }
  if (dice.chance(350)) {
    line.open("metadata");
    line.string("channel", dice.favour(channels));
    line.numbered("batch", "B", index / 100, 6);
    line.close();
  }
}

}  // namespace

void write_orchestration(const Setting& setting, Line& line, std::uint64_t index) {
  Dice dice(setting.seed, Stream::orchestration, index);
  const std::uint64_t identities = identities_of_orchestrations(setting.rows);
  const Identity owner = identity_at(setting.seed, identities, dice.skewed(identities));
  const Identity other = identity_at(setting.seed, identities, dice.skewed(identities));
  const Flow flow = dice.favour(flows);
  const Course course = course_of(setting, index, dice);
  const Asset& coin = dice.favour(crypto_assets);
  const Asset& money = dice.favour(fiat_assets);
  const Asset& from = flow.source == Side::fiat ? money : coin;
  const Asset& to = flow.destination == Side::fiat ? money : coin;
  const std::uint64_t created_us =
      spread_us(index, setting.rows, activity_begins_us, activity_ends_us, dice);
  line.uuid("id", uuid_at(created_us, dice.next()));
  line.uuid("profile_id", owner.profile_id);
  line.uuid("identity_id", owner.id);
  line.uuid("account_id", owner.account_id);
  line.text(setting.customer);
  if (dice.chance(700)) line.numbered("ref_id", "order-", index + 1, 10);
  line.string("source_asset", from.name);
  line.string("destination_asset", to.name);
  const std::uint64_t units = dice.skewed(from.most);
  line.amount("source_amount", units, dice.next() % power_of_ten(from.decimals), from.decimals);
  write_course(line, course, created_us, dice);
  write_side(line, "source", flow.source, from, owner.profile_id,
             Dice(dice.next(), Stream::orchestration, 0));
  write_side(line, "destination", flow.destination, to,
             flow.source == Side::profile ? other.profile_id : owner.profile_id,
             Dice(dice.next(), Stream::orchestration, 1));
  write_origin(setting, line, index, dice);
  line.time("created_at", created_us);
  line.time("updated_at",
            created_us + dice.skewed(std::min(2 * day_us, activity_ends_us - created_us)));
}

}  // namespace comptroller::sample
