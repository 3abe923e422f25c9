// Identities and the controls on them.
#include "model/records/identities.hpp"

#include <array>

#include "sample/rows.hpp"

namespace comptroller::sample {
namespace {

constexpr std::uint64_t identities_begin_us = date_us(2023, 7, 1);

constexpr std::array segments{"retail", "premium", "business", "institution"};
constexpr std::array channels{"web", "ios", "android", "partner"};
constexpr std::array clients{"back-office", "mobile-app", "risk-engine", "support-desk"};

struct Cause {
  ControlType type;
  SetBy set_by;
  const char* code;
  const char* reason;
};
// Two causes for each variant of a control, frequent variants first. No two variants have the same
// type and setter, so that controls of different variants can be active on one identity.
constexpr auto causes = [] {
  using enum ControlType;
  using enum SetBy;
  return std::to_array<Cause>({
      {dormant, client, "INACTIVITY_12M", "No sign-in and no transfer for twelve months"},
      {dormant, client, "INACTIVITY_12M", "Two reminders to confirm the account stayed unanswered"},
      {sell_only, client, "CUSTOMER_REQUEST", "Customer asked to stop buying until further notice"},
      {sell_only, client, "DOCUMENT_EXPIRED", "Proof of identity has expired, renewal requested"},
      {frozen, provider, "SANCTIONS_SCREENING", "Possible match on a sanctions list, under review"},
      {frozen, provider, "SUSPECTED_TAKEOVER", "New device, then a new withdrawal address"},
      {closed, client, "CUSTOMER_REQUEST", "Customer closed the account"},
      {closed, client, "DUPLICATE_ACCOUNT", "Same person as an older account that stays open"},
      {sell_only, provider, "JURISDICTION_EXIT", "No buying in the country of residence any more"},
      {sell_only, provider, "COURT_ORDER", "Purchases suspended by order of a court"},
      {closed, provider, "COURT_ORDER", "Closed by order of a court"},
      {closed, provider, "SANCTIONS_SCREENING", "Confirmed match on a sanctions list"},
  });
}();
constexpr std::size_t control_kinds = causes.size() / 2;
constexpr std::array client_reversals{"Customer is active again", "Restriction is no longer needed",
                                      "Customer changed their mind", "Set by mistake"};
constexpr std::array provider_reversals{"Review found no match", "Account owner was verified",
                                        "Order was lifted"};

}  // namespace

StoredIdentity identity_at(const Setting& setting, std::uint64_t index) {
  Random random(setting.seed, Stream::identity, index);
  const std::uint64_t created_us =
      spread_us(index, setting.rows, identities_begin_us, activity_begins_us, random);
  StoredIdentity identity;
  identity.id.value = uuid_at(created_us, random);
  identity.customer_id.value = "default";
  if (random.chance(900)) identity.ref_id = Label{"user-" + std::to_string(index + 1)};
  if (random.chance(600)) {
    identity.metadata =
        Metadata{{{"segment", random.favour(segments)}, {"channel", random.any(channels)}}};
  }
  identity.created_at = timestamp(created_us);
  const std::uint64_t later_us = random.chance(300) ? random.skewed(90 * day_us) : 0;
  identity.updated_at = {timestamp(created_us + later_us)};
  return identity;
}

Control control_at(const Setting& setting, std::uint64_t index) {
  Random random(setting.seed, Stream::control, index);
  // In the second half, every fourth control is on an identity that already has a control, and has
  // the next variant; no identity has three controls.
  const std::uint64_t half = (setting.rows + 1) / 2;
  const bool is_second = index >= half && index % 4 == 3;
  const std::uint64_t bearer = is_second ? index - half : index;
  constexpr std::uint64_t prime = 2'147'483'647;  // larger than any number of identities
  const Setting identities{setting.seed, control_identities * setting.rows};
  const std::uint64_t identity = bearer * (prime % identities.rows) % identities.rows;
  const std::uint64_t kind =
      Random(setting.seed, Stream::control_kind, bearer).favoured(control_kinds) +
      (is_second ? 1 : 0);
  const Cause& cause = causes[2 * (kind % control_kinds) + random.below(2)];
  const bool by_client = cause.set_by == SetBy::client;
  const std::uint64_t created_us =
      spread_us(index, setting.rows, activity_begins_us, activity_ends_us, random);
  const std::uint64_t deleted_us = created_us + hour_us + random.skewed(90 * day_us);
  Control control;
  control.id.value = uuid_at(created_us, random);
  control.type = cause.type;
  control.set_by = cause.set_by;
  control.is_overridable = by_client;
  control.reason_code = Word{cause.code};
  if (random.chance(900)) control.reason = Note{cause.reason};
  control.created_at = timestamp(created_us);
  control.identity_id = identity_at(identities, identity).id;
  control.created_by = Label{by_client ? random.favour(clients) : "operator"};
  if (deleted_us < activity_ends_us && random.chance(by_client ? 450 : 300)) {
    control.deleted_at = timestamp(deleted_us);
    control.deleted_by = Label{by_client ? random.any(clients) : "operator"};
    control.deletion_reason =
        Note{by_client ? random.any(client_reversals) : random.any(provider_reversals)};
  }
  return control;
}

}  // namespace comptroller::sample
