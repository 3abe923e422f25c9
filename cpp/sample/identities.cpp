// Identities and the controls on them.
#include <array>

#include "sample/rows.hpp"

namespace comptroller::sample {
namespace {

using namespace std::string_view_literals;

constexpr std::uint64_t identities_begin_us = date_us(2023, 7, 1);

constexpr std::array segments{"retail"sv, "premium"sv, "business"sv, "institution"sv};
constexpr std::array channels{"web"sv, "ios"sv, "android"sv, "partner"sv};
constexpr std::array clients{"back-office"sv, "mobile-app"sv, "risk-engine"sv, "support-desk"sv};

struct Cause {
  std::string_view code;
  std::string_view reason;
};
struct ControlKind {
  ControlType type = ControlType::dormant;
  SetBy set_by = SetBy::client;
  bool is_overridable = false;
  std::array<Cause, 2> causes;
};
// No two share type and setter, so that different kinds can stand side by side on one identity.
constexpr std::array<ControlKind, 6> control_kinds{{
    {ControlType::dormant,
     SetBy::client,
     true,
     {{{"INACTIVITY_12M", "No sign-in and no transfer for twelve months"},
       {"INACTIVITY_12M", "Two reminders to confirm the account stayed unanswered"}}}},
    {ControlType::sell_only,
     SetBy::client,
     true,
     {{{"CUSTOMER_REQUEST", "Customer asked to stop buying until further notice"},
       {"DOCUMENT_EXPIRED", "Proof of identity has expired, renewal requested"}}}},
    {ControlType::frozen,
     SetBy::provider,
     false,
     {{{"SANCTIONS_SCREENING", "Possible match on a sanctions list, under review"},
       {"SUSPECTED_TAKEOVER", "Sign-in from a new device followed by a new withdrawal address"}}}},
    {ControlType::closed,
     SetBy::client,
     true,
     {{{"CUSTOMER_REQUEST", "Customer closed the account"},
       {"DUPLICATE_ACCOUNT", "Same person as an older account that stays open"}}}},
    {ControlType::sell_only,
     SetBy::provider,
     false,
     {{{"JURISDICTION_EXIT", "Buying is no longer offered in the country of residence"},
       {"COURT_ORDER", "Purchases suspended by order of a court"}}}},
    {ControlType::closed,
     SetBy::provider,
     false,
     {{{"COURT_ORDER", "Closed by order of a court"},
       {"SANCTIONS_SCREENING", "Confirmed match on a sanctions list"}}}},
}};
constexpr std::array client_reversals{"Customer is active again"sv,
                                      "Restriction is no longer needed"sv,
                                      "Customer changed their mind"sv, "Set by mistake"sv};
constexpr std::array provider_reversals{"Review found no match"sv, "Account owner was verified"sv,
                                        "Order was lifted"sv};

std::size_t drawn_kind(std::uint64_t seed, std::uint64_t control) {
  Dice dice(seed, Stream::control_kind, control);
  const std::uint64_t even = dice.below(1024);
  return static_cast<std::size_t>(even * even * control_kinds.size() >> 20);
}

struct Subject {
  std::uint64_t identity;
  std::size_t kind;
};
// In the later half every fourth control falls on an identity that has one already, and is then of
// another kind; no identity has three.
Subject subject_of(std::uint64_t seed, std::uint64_t controls, std::uint64_t index) {
  const std::uint64_t half = (controls + 1) / 2;
  const bool again = index >= half && index % 4 == 3;
  const std::uint64_t bearer = again ? index - half : index;
  constexpr std::uint64_t prime = 2'147'483'647;  // above any number of identities
  const std::uint64_t identities = control_identities * controls;
  Subject subject{bearer * (prime % identities) % identities, drawn_kind(seed, index)};
  if (again && subject.kind == drawn_kind(seed, bearer)) {
    subject.kind = (subject.kind + 1) % control_kinds.size();
  }
  return subject;
}

}  // namespace

Identity identity_at(std::uint64_t seed, std::uint64_t identities, std::uint64_t index) {
  Dice dice(seed, Stream::identity, index);
  Identity identity;
  identity.created_us = spread_us(index, identities, identities_begin_us, activity_begins_us, dice);
  identity.id = uuid_at(identity.created_us, dice.next());
  identity.profile_id = uuid_at(identity.created_us + second_us, dice.next());
  identity.account_id = uuid_at(identity.created_us + 2 * second_us, dice.next());
  identity.dice = dice;
  return identity;
}

void write_identity(const Setting& setting, Line& line, std::uint64_t index) {
  const Identity identity = identity_at(setting.seed, setting.rows, index);
  Dice dice = identity.dice;
  line.uuid("id", identity.id);
  line.text(setting.customer);
  if (dice.chance(900)) line.numbered("ref_id", "user-", index + 1, 10);
  if (dice.chance(600)) {
    line.open("metadata");
    line.string("segment", dice.favour(segments));
    line.string("channel", dice.any(channels));
    line.close();
  }
  const std::uint64_t later_us = dice.chance(300) ? dice.skewed(90 * day_us) : 0;
  line.time("created_at", identity.created_us);
  line.time("updated_at", identity.created_us + later_us);
}

void write_control(const Setting& setting, Line& line, std::uint64_t index) {
  Dice dice(setting.seed, Stream::control, index);
  const Subject subject = subject_of(setting.seed, setting.rows, index);
  const ControlKind& kind = control_kinds[subject.kind];
  const Cause& cause = dice.any(kind.causes);
  const bool by_client = kind.set_by == SetBy::client;
  const std::uint64_t created_us =
      spread_us(index, setting.rows, activity_begins_us, activity_ends_us, dice);
  const std::uint64_t deleted_us = created_us + hour_us + dice.skewed(90 * day_us);
  line.uuid("id", uuid_at(created_us, dice.next()));
  line.uuid("identity_id",
            identity_at(setting.seed, control_identities * setting.rows, subject.identity).id);
  line.string("type", word(kind.type));
  line.string("set_by", word(kind.set_by));
  line.boolean("is_overridable", kind.is_overridable);
  line.string("reason_code", cause.code);
  if (dice.chance(900)) line.string("reason", cause.reason);
  line.time("created_at", created_us);
  const std::string_view creator = by_client ? dice.favour(clients) : "operator"sv;
  if (deleted_us < activity_ends_us && dice.chance(by_client ? 450 : 300)) {
    line.time("deleted_at", deleted_us);
    line.string("created_by", creator);
    line.string("deleted_by", by_client ? dice.any(clients) : "operator"sv);
    line.string("deletion_reason",
                by_client ? dice.any(client_reversals) : dice.any(provider_reversals));
  } else {
    line.null("deleted_at");
    line.string("created_by", creator);
  }
  line.text(setting.given_customer);
}

}  // namespace comptroller::sample
