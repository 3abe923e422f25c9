#include "model/scalar.hpp"

#include <charconv>

#include "model/shorten.hpp"

namespace comptroller {

namespace {

// A refined scalar is read as the scalar it refines.
template <class Refined, class Base>
std::optional<Refined> refine(std::optional<Base> value) {
  if (!value) return std::nullopt;
  return Refined{*std::move(value)};
}

}  // namespace

std::optional<CustomerId> CustomerId::parse(std::string_view text) {
  return refine<CustomerId>(Id::parse(text));
}

std::optional<OwnerId> OwnerId::parse(std::string_view text) {
  return refine<OwnerId>(Id::parse(text));
}

std::optional<GroupId> GroupId::parse(std::string_view text) {
  return refine<GroupId>(Uuid::parse(text));
}

std::optional<UpdatedAt> UpdatedAt::parse(std::string_view text) {
  return refine<UpdatedAt>(Timestamp::parse(text));
}

std::optional<PageLimit> PageLimit::parse(std::string_view text) {
  PageLimit limit;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, limit.value);
  if (failure != std::errc{} || stop != end || limit.value < 1 || limit.value > most) {
    return std::nullopt;
  }
  return limit;
}

std::string PageLimit::expectation() {
  return "a whole number from 1 to " + std::to_string(most);
}

std::optional<PageCursor> PageCursor::parse(std::string_view text) {
  return PageCursor{std::string(text)};
}

std::string PageCursor::expectation() {
  return "the next_page_cursor of an earlier page";
}

std::string refused_text(const std::string& expected, std::string_view text) {
  return "must be " + expected + ", not \"" + shorten(text) + "\"";
}

}  // namespace comptroller
