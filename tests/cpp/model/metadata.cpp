#include "model/metadata.hpp"

#include <doctest/doctest.h>

namespace comptroller {
namespace {

// Characters of two bytes.
std::string accents(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += "\xc3\xa9";
  return text;
}

Metadata numbered(std::size_t count) {
  Metadata metadata;
  for (std::size_t i = 0; i < count; ++i) {
    metadata.pairs.emplace_back("key" + std::to_string(i), "value");
  }
  return metadata;
}

TEST_CASE("metadata within its limits is accepted") {
  CHECK_FALSE(refusal({}).has_value());
  CHECK_FALSE(refusal(numbered(50)).has_value());
  CHECK_FALSE(refusal({{{"k", ""}}}).has_value());
  CHECK_FALSE(refusal({{{accents(64), accents(512)}}}).has_value());
  CHECK_FALSE(refusal({{{"a", "same"}, {"b", "same"}}}).has_value());
}

TEST_CASE("metadata beyond its limits is refused with the reason") {
  const std::string keys = "must have keys of 1 to 64 characters without control characters";
  const std::string values =
      "must have values of 0 to 512 characters without control characters; the value of \"k\" "
      "is invalid";
  CHECK(refusal(numbered(51)) == "must have at most 50 pairs, not 51");
  CHECK(refusal({{{"", "v"}}}) == keys);
  CHECK(refusal({{{accents(65), "v"}}}) == keys);
  CHECK(refusal({{{"a\x1f", "v"}}}) == keys);
  CHECK(refusal({{{"\xff", "v"}}}) == keys);
  CHECK(refusal({{{"a", "v"}, {"k", accents(513)}}}) == values);
  CHECK(refusal({{{"k", "a\nb"}}}) == values);
  CHECK(refusal({{{"k", "\xc3"}}}) == values);
  CHECK(refusal({{{"k", "1"}, {"j", "2"}, {"k", "3"}}}) ==
        "must name each key once; \"k\" appears more than once");
}

TEST_CASE("metadata is equal in any order") {
  CHECK(Metadata{} == Metadata{});
  CHECK(Metadata{{{"a", "1"}, {"b", "2"}}} == Metadata{{{"a", "1"}, {"b", "2"}}});
  CHECK(Metadata{{{"a", "1"}, {"b", "2"}}} == Metadata{{{"b", "2"}, {"a", "1"}}});
  CHECK(Metadata{{{"a", "1"}, {"b", "2"}}} != Metadata{{{"b", "1"}, {"a", "2"}}});
  CHECK(Metadata{{{"a", "1"}}} != Metadata{{{"a", "1"}, {"b", "2"}}});
  CHECK(Metadata{{{"a", "1"}}} != Metadata{});
}

}  // namespace
}  // namespace comptroller
