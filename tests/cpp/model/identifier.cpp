#include "model/identifier.hpp"

#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <random>

#include "model/scalar.hpp"

namespace comptroller {
namespace {

constexpr std::string_view lower_uuid = "0190163d-8694-739b-aea5-966c26f8ad91";
constexpr std::string_view upper_uuid = "0190163D-8694-739B-AEA5-966C26F8AD91";

TEST_CASE("an id is visible ASCII and unchanged") {
  for (const std::string& text :
       {std::string("a"), std::string("ABC-def_9"), std::string("!~"), std::string(128, 'x'),
        std::string(36, 'F'), "X" + std::string(upper_uuid), std::string("{}\"\\/")}) {
    CAPTURE(text);
    REQUIRE(FieldType<Id>::parse(text).has_value());
    CHECK(FieldType<Id>::parse(text)->value == text);
  }
  for (const std::string& text :
       {std::string(), std::string(129, 'x'), std::string("a b"), std::string(" a"),
        std::string("a\n"), std::string("a\x7f"), std::string("\xc3\xa9"), std::string("\0", 1)}) {
    CAPTURE(text);
    CHECK_FALSE(FieldType<Id>::parse(text).has_value());
  }
}

TEST_CASE("both types convert a UUID to lower case") {
  for (const std::string_view text :
       {lower_uuid, upper_uuid, std::string_view("0190163d-8694-739B-aea5-966C26F8AD91")}) {
    CAPTURE(text);
    CHECK(FieldType<Id>::parse(text) == Id{std::string(lower_uuid)});
    CHECK(FieldType<Uuid>::parse(text) == Uuid{std::string(lower_uuid)});
  }
  CHECK(FieldType<Uuid>::parse("00000000-0000-0000-0000-000000000000").has_value());
  CHECK(FieldType<Uuid>::parse("FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF").has_value());
  CHECK(Id{"a"} < Id{"b"});
  CHECK(Uuid{"a"} < Uuid{"b"});
}

TEST_CASE("text that is not a UUID is refused as a UUID, and unchanged as an id") {
  for (const std::string_view text :
       {"0190163d8694739baea5966c26f8ad91", "0190163d-8694-739b-aea5-966c26f8ad9",
        "0190163d-8694-739b-aea5-966c26f8ad911", "{190163d-8694-739b-aea5-966c26f8ad91",
        "0190163D-8694-739b-aea5-966c26f8ad9G", "0190163D+8694-739b-aea5-966c26f8ad91",
        "0190163D-8694+739b-aea5-966c26f8ad91", "0190163D-8694-739b+aea5-966c26f8ad91",
        "0190163D-8694-739b-aea5+966c26f8ad91", "0190163D-8694-739b-aea5-966c26f8a-91",
        "0190163D-8694-739b-aea-5966c26f8ad91", "urn:uuid:0190163d"}) {
    CAPTURE(text);
    CHECK_FALSE(FieldType<Uuid>::parse(text).has_value());
    REQUIRE(FieldType<Id>::parse(text).has_value());
    CHECK(FieldType<Id>::parse(text)->value == text);
  }
  CHECK_FALSE(FieldType<Uuid>::parse("").has_value());
}

TEST_CASE("only lower-case UUIDs pack, and are equal after unpacking") {
  std::array<char, 16> packed{};
  REQUIRE(pack_uuid(lower_uuid, packed.data()));
  CHECK(packed[0] == '\x01');
  CHECK(packed[15] == '\x91');
  CHECK_FALSE(pack_uuid(upper_uuid, packed.data()));
  CHECK_FALSE(pack_uuid("", packed.data()));
  CHECK_FALSE(pack_uuid(std::string(lower_uuid) + "0", packed.data()));
  for (std::size_t i = 0; i < uuid_length; ++i) {
    std::string damaged(lower_uuid);
    damaged[i] = 'g';
    CHECK_FALSE(pack_uuid(damaged, packed.data()));
  }

  std::mt19937 random(9562);
  for (int round = 0; round < 1'000; ++round) {
    for (char& byte : packed) byte = static_cast<char>(random() & 0xff);
    std::string text(uuid_length, '\0');
    format_uuid(packed.data(), text.data());
    CHECK(FieldType<Uuid>::parse(text) == Uuid{text});
    std::array<char, 16> again{};
    REQUIRE(pack_uuid(text, again.data()));
    CHECK(again == packed);
  }
}

TEST_CASE("generated ids have the layout of RFC 9562 version 7") {
  // The example of the RFC's appendix A.6: 2022-02-22T14:22:22.000-05:00.
  const std::array<unsigned char, 10> random{0x0c, 0xc3, 0x18, 0xc4, 0xdc,
                                             0x0c, 0x0c, 0x07, 0x39, 0x8f};
  const std::optional<Timestamp> now = Timestamp::parse("2022-02-22T14:22:22-05:00");
  CHECK(make_uuid_v7(*now, random) == "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");

  std::array<unsigned char, 10> ones{};
  ones.fill(0xff);
  const std::array<unsigned char, 10> zeros{};
  CHECK(make_uuid_v7({999}, ones) == "00000000-0000-7fff-bfff-ffffffffffff");
  CHECK(make_uuid_v7({1'000}, zeros) == "00000000-0001-7000-8000-000000000000");
  CHECK(make_uuid_v7({std::numeric_limits<std::int64_t>::min()}, zeros) ==
        "00000000-0000-7000-8000-000000000000");
  CHECK(make_uuid_v7(latest_timestamp, zeros) == "e677d21f-dbff-7000-8000-000000000000");
}

TEST_CASE("the expectations of identifiers describe their format") {
  CHECK(Id::expectation() == "an id of 1 to 128 printable ASCII characters without space");
  CHECK(Uuid::expectation() == "a UUID, such as 0190163d-8694-739b-aea5-966c26f8ad91");
}

TEST_CASE("UUIDs are ordered by their text") {
  const Uuid one{"0190163d-8694-739b-aea5-966c26f8ad91"};
  const Uuid other{"0190163d-8694-739b-aea5-966c26f8ad92"};
  CHECK(one < other);
  CHECK(other > one);
  CHECK_FALSE(one == other);
}

}  // namespace
}  // namespace comptroller
