#include "model/error.hpp"

#include <doctest/doctest.h>

#include <set>

namespace comptroller {
namespace {

TEST_CASE("every code has one row with its own name, a status and a title") {
  std::set<std::string_view> words;
  for (const Problem& row : problems) {
    CHECK(words.insert(row.code).second);
    CHECK(row.status >= 400);
    CHECK(row.status < 600);
    CHECK_FALSE(row.title.empty());
  }
  CHECK(problem(Code::malformed_json).code == "malformed-json");
  CHECK(problem(Code::invalid_request).status == 400);
  CHECK(problem(Code::insufficient_scope).code == "insufficient-scope");
  CHECK(problem(Code::not_found).status == 404);
  CHECK(problem(Code::illegal_transition).status == 409);
  CHECK(problem(Code::idempotency_key_reused).status == 422);
  CHECK(problem(Code::unavailable).code == "unavailable");
  CHECK(problem(Code::unavailable).status == 503);
  CHECK(problem(Code::closed).code == "closed");
  CHECK(problem(Code::outcome_unknown).code == "outcome-unknown");
  CHECK(Error::of_system(ENOSPC, "full").code() == Code::unavailable);
  CHECK(Error::of_system(EACCES, "forbidden").code() == Code::unusable);
}

TEST_CASE("the detail of an error about one field names the field") {
  const Error error = Error::invalid("limit", "must be small");
  CHECK(error.code() == Code::invalid_request);
  CHECK(error.detail() == "limit: must be small");
  CHECK(std::string_view(error.what()) == "limit: must be small");
  REQUIRE(error.errors().size() == 1);
  CHECK(error.errors()[0].field == "limit");
  CHECK(error.errors()[0].message == "must be small");
}

std::vector<FieldError> many(int count) {
  std::vector<FieldError> errors;
  for (int i = 0; i < count; ++i) errors.push_back({"f" + std::to_string(i), "is bad"});
  return errors;
}

TEST_CASE("the detail of an error about several fields names each, up to a maximum") {
  const Error two = Error::fields(many(2));
  CHECK(two.detail() == "f0: is bad; f1: is bad");
  CHECK(two.errors().size() == 2);
  const Error thirty = Error::fields(many(30));
  CHECK(thirty.detail().find("25 more") != std::string::npos);
  CHECK(thirty.errors().size() == 20);
  CHECK(thirty.errors().front().field == "f0");
}

TEST_CASE("a conflict names the existing record") {
  const Error error = Error::conflict("taken", "a1");
  CHECK(error.code() == Code::already_exists);
  CHECK(error.existing() == "a1");
}

TEST_CASE("errors of fields are equal if field and message are") {
  const FieldError error{"limit", "must be small"};
  CHECK(error == FieldError{"limit", "must be small"});
  CHECK_FALSE(error == FieldError{"limit", "must be large"});
  CHECK_FALSE(error == FieldError{"order", "must be small"});
}

}  // namespace
}  // namespace comptroller
