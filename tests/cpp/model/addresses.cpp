#include "model/addresses.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <random>
#include <string>

#include "model/scalar.hpp"

namespace comptroller {
namespace {

// Returns the packed bytes; nullopt if the addresses cannot be packed.
std::optional<std::string> pack_addresses(const Addresses& addresses) {
  std::string packed(addresses.size() * packed_address_length, '\0');
  if (!comptroller::pack_addresses(addresses, packed.data())) return std::nullopt;
  return packed;
}

const std::string usual = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed";

TEST_CASE("lower-case hexadecimal addresses pack into 20 bytes each") {
  CHECK(pack_addresses({}) == "");
  const std::optional<std::string> packed =
      pack_addresses({{usual}, {"0x0000000000000000000000000000000000000001"}});
  REQUIRE(packed.has_value());
  REQUIRE(packed->size() == 40);
  CHECK(text_of(PackedHexadecimal{std::string_view(*packed).substr(0, 20)}) == usual);
  CHECK(text_of(PackedHexadecimal{std::string_view(*packed).substr(20)}) ==
        "0x0000000000000000000000000000000000000001");
}

TEST_CASE("one address in another form prevents packing of the list") {
  for (const std::string& other :
       {std::string("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"), usual.substr(0, 41), usual + "0",
        "0X" + usual.substr(2), "00" + usual.substr(2), usual.substr(0, 41) + "g",
        std::string("So11111111111111111111111111111111111111112"), std::string("x")}) {
    CAPTURE(other);
    CHECK_FALSE(pack_addresses({{other}}).has_value());
    CHECK_FALSE(pack_addresses({{usual}, {other}}).has_value());
  }
}

TEST_CASE("random addresses are equal after packing") {
  std::mt19937 random(20);
  for (int round = 0; round < 500; ++round) {
    std::string packed((random() % 6) * packed_address_length, '\0');
    for (char& byte : packed) byte = static_cast<char>(random() & 0xff);
    Addresses addresses;
    for (std::size_t at = 0; at < packed.size(); at += packed_address_length) {
      addresses.push_back(
          {text_of(PackedHexadecimal{std::string_view(packed).substr(at, packed_address_length)})});
    }
    CHECK(pack_addresses(addresses) == packed);
  }
}

}  // namespace
}  // namespace comptroller
