// Orchestrations.
#pragma once

#include <optional>

#include "model/metadata.hpp"
#include "model/scalar.hpp"

namespace comptroller {

struct Transfer {
  RECORD(Transfer, "One of the two transfers of an orchestration.");
  FIELD(std::optional<Label>, transfer_id, "identifies the transfer");
  FIELD(std::optional<Word>, status,
        "PENDING, PROCESSING, COMPLETED, FAILED; later versions may add values");
};

struct FailReason {
  RECORD(FailReason, "The reason why an orchestration failed.");
  FIELD(std::optional<Note>, detail, "why it failed, in prose");
};

struct CryptoEndpoint {
  RECORD(CryptoEndpoint, "A crypto address as the source or destination of an orchestration.");
  FIELD(std::optional<Label>, address_id, "identifies the address");
  FIELD(std::optional<Label>, address, "the address as received");
  FIELD(std::optional<Label>, network, "its network");
};

struct FiatSource {
  RECORD(FiatSource, "A fiat deposit as the source of an orchestration.");
  FIELD(std::optional<Label>, deposit_instructions_id, "identifies the deposit instructions");
  FIELD(std::optional<Note>, memo, "text sent with the payment");
};

struct FiatDestination {
  RECORD(FiatDestination, "A bank account as the destination of an orchestration.");
  FIELD(std::optional<Label>, bank_account_id, "identifies the bank account");
  FIELD(std::optional<Note>, memo, "text sent with the payment");
};

struct ProfileEndpoint {
  RECORD(ProfileEndpoint, "A profile as the source or destination of an orchestration.");
  FIELD(std::optional<Id>, profile_id, "the profile");
};

struct Source {
  RECORD(Source, "The source of the value of an orchestration. One member is set.");
  FIELD(std::optional<CryptoEndpoint>, crypto, "a crypto address");
  FIELD(std::optional<FiatSource>, fiat, "a fiat instrument");
  FIELD(std::optional<ProfileEndpoint>, profile, "a profile");
};

struct Destination {
  RECORD(Destination, "The destination of the value of an orchestration. One member is set.");
  FIELD(std::optional<CryptoEndpoint>, crypto, "a crypto address");
  FIELD(std::optional<FiatDestination>, fiat, "a fiat instrument");
  FIELD(std::optional<ProfileEndpoint>, profile, "a profile");
};

// Specification 2.2.
struct Orchestration {
  static constexpr std::string_view table = "orchestrations", singular = "orchestration";
  RECORD(Orchestration, "A movement of value from a source to a destination.");
  FIELD(Id, id, "identifies the orchestration");
  FIELD(std::optional<Id>, profile_id, "the profile it belongs to");
  FIELD(std::optional<Id>, identity_id, "the identity it belongs to");
  FIELD(std::optional<Id>, account_id, "the account it belongs to");
  FIELD(CustomerId, customer_id, "the customer it belongs to");
  FIELD(std::optional<Label>, ref_id, "reference id given by the client");
  FIELD(std::optional<Term>, source_asset, "asset that leaves the source");
  FIELD(std::optional<Term>, destination_asset, "asset that arrives at the destination");
  FIELD(std::optional<Amount>, source_amount,
        "amount that leaves the source, in units of source_asset");
  FIELD(std::optional<Transfer>, source_transfer, "the transfer out of the source");
  FIELD(std::optional<Transfer>, destination_transfer, "the transfer into the destination");
  FIELD(Word, status,
        "PENDING, PROCESSING, COMPLETED, FAILED, REJECTED; later versions may add values");
  FIELD(std::optional<FailReason>, fail_reason, "why it failed");
  FIELD(std::optional<Source>, source, "where the value comes from");
  FIELD(std::optional<Destination>, destination, "where the value goes");
  FIELD(std::optional<Id>, orchestration_rule_id, "the rule that initiated it");
  FIELD(Timestamp, created_at, "creation time");
  FIELD(UpdatedAt, updated_at, "time of the last change");
  FIELD(std::optional<Metadata>, metadata, "the client's own keys and values");
};

}  // namespace comptroller
