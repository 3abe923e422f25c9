#include "model/country_code.hpp"

#include <doctest/doctest.h>

#include "model/scalar.hpp"

namespace comptroller {
namespace {

TEST_CASE("a country code is two capital letters") {
  CHECK(Scalar<CountryCode>::view(*Scalar<CountryCode>::parse("CH")) == "CH");
  for (const std::string_view text : {"", "C", "ch", "CHE", "C1"}) {
    CHECK_FALSE(Scalar<CountryCode>::parse(text).has_value());
  }
}

}  // namespace
}  // namespace comptroller
