#include "model/scalar.hpp"

#include <doctest/doctest.h>

#include "model/records.hpp"

namespace comptroller {
namespace {

// A type that inherits from another scalar and overrides some of its members.
TEST_CASE("a derived type inherits the parse, kind and view of its base") {
  const std::string upper = "0190163D-8694-739B-AEA5-966C26F8AD91";
  const std::string lower = "0190163d-8694-739b-aea5-966c26f8ad91";
  REQUIRE(FieldType<GroupId>::parse(upper).has_value());
  CHECK(view_of(*FieldType<GroupId>::parse(upper)) == lower);
  CHECK_FALSE(FieldType<GroupId>::parse("group").has_value());
  CHECK(FieldType<GroupId>::kind() == "uuid");
  CHECK(FieldType<GroupId>::expectation() == FieldType<Uuid>::expectation());
  CHECK(FieldType<Uuid>::storage == StorageClass::identifier);
  CHECK(FieldType<GroupId>::storage == StorageClass::symbol);
  CHECK(FieldType<SnapshotBalance>::storage == StorageClass::amount);
  CHECK(FieldType<UpdatedAt>::kind() == "timestamp");
}

TEST_CASE("closed sets, booleans, lists and records are scalars without a class of their own") {
  CHECK(FieldType<SetBy>::kind() == "SetBy");
  CHECK(FieldType<SetBy>::expectation() == "one of CLIENT, PROVIDER");
  CHECK(FieldType<SetBy>::parse("PROVIDER") == SetBy::provider);
  CHECK_FALSE(FieldType<SetBy>::parse("provider").has_value());
  CHECK(FieldType<bool>::parse("false") == false);
  CHECK_FALSE(FieldType<bool>::parse("0").has_value());
  CHECK(FieldType<std::vector<Action>>::kind() == "Action[]");
  CHECK(FieldType<Transfer>::kind() == "Transfer");
  CHECK(FieldType<Transfer>::storage == StorageClass::document);
}

TEST_CASE("values without a text form cannot be parsed") {
  CHECK(Parsed<Label>);
  CHECK(Parsed<bool>);
  CHECK_FALSE(Parsed<Metadata>);
  CHECK_FALSE(Parsed<Transfer>);
  CHECK_FALSE(Parsed<Addresses>);
}

TEST_CASE("the traits of a field follow from its type") {
  CHECK(names_customer<CustomerId>);
  CHECK(names_customer<OwnerId>);
  CHECK_FALSE(names_customer<Id>);
  CHECK(is_shown<CustomerId>(Audience::client));
  CHECK_FALSE(is_shown<OwnerId>(Audience::client));
  CHECK(is_shown<OwnerId>(Audience::provider));
  CHECK(is_completed_by_load<CustomerId>);
  CHECK(is_completed_by_load<UpdatedAt>);
  CHECK_FALSE(is_completed_by_load<Timestamp>);
  CHECK(is_derived<SnapshotBalance>);
  CHECK_FALSE(is_derived<NonNegativeAmount>);
}

TEST_CASE("a stored document must have both of its brackets") {
  CHECK(JsonText<Addresses>{"[]"}.checked() == "[]");
  CHECK(JsonText<Metadata>{R"({"a":"b"})"}.checked() == R"({"a":"b"})");
  for (const std::string_view damaged : {"", "[", "[}", "{}", R"(["a")"}) {
    CAPTURE(damaged);
    CHECK_THROWS_AS(JsonText<Addresses>{damaged}.checked(), Error);
  }
}

TEST_CASE("a code without a value has a text of its own") {
  CHECK(enum_text(ClaimStatus::failed) == "FAILED");
  CHECK(enum_text(static_cast<ClaimStatus>(200)) == "(unknown)");
}

TEST_CASE("a required scalar is parsed, or refused with its expectation") {
  CHECK(require_scalar<Id>("id", "claim-1").value == "claim-1");
  CHECK_THROWS_WITH_AS(require_scalar<Id>("id", "two words"),
                       doctest::Contains("not \"two words\""), Error);
  CHECK(find_enum<Order>("ASC") == Order::asc);
  CHECK_FALSE(find_enum<Order>("UP"));
}

}  // namespace
}  // namespace comptroller
