#include "service/parameters.hpp"

#include <doctest/doctest.h>

#include "model/requests.hpp"
#include "service/service_fixture.hpp"

namespace comptroller::service {
namespace {

template <Record R>
R read(const Parameters& parameters) {
  R request{};
  read_parameters<R>(parameters, request, field_names<R>);
  return request;
}

template <Record R>
Refusal refused(const Parameters& parameters) {
  return refusal_of([&] { read<R>(parameters); });
}

TEST_CASE("parameters set the members they name") {
  const auto request = read<ListOrchestrations>({{"status", "FAILED"},
                                                 {"limit", "7"},
                                                 {"status", "COMPLETED"},
                                                 {"order", "ASC"},
                                                 {"created_at.lte", "2026-01-31T23:59:59+01:00"},
                                                 {"customer_id", "acme"},
                                                 {"ref_id", "a,b"},
                                                 {"page_cursor", ""}});
  CHECK(request.status == std::vector{Word{"FAILED"}, Word{"COMPLETED"}});
  CHECK(request.ref_id == std::vector{Label{"a,b"}});  // a comma is part of the value
  CHECK(request.limit->value == 7);
  CHECK(request.order == Order::asc);
  CHECK(request.lte == Timestamp::parse("2026-01-31T22:59:59Z"));
  CHECK(request.customer_id == Id{"acme"});
  CHECK(request.page_cursor->value.empty());
  CHECK_FALSE(request.lt.has_value());
}

TEST_CASE("an unknown parameter is refused with the nearest known name") {
  const Refusal refusal = refused<ListOrchestrations>({{"statuss", "FAILED"}});
  CHECK(refusal.code == "invalid-request");
  CHECK(refusal.field == "statuss");
  CHECK(refusal.detail.find("did you mean status?") != std::string::npos);
  CHECK(refused<ListOrchestrations>({{"created_at.ltee", "x"}}).detail.find("created_at.lte") !=
        std::string::npos);
  // If no known name is similar, the message lists all of them.
  CHECK(refused<ListBalances>({{"zzzzzzzzzz", "x"}}).detail.find("address_id") !=
        std::string::npos);
}

TEST_CASE("a repeated single-valued parameter is refused, with equal or other values") {
  CHECK(refused<ListOrchestrations>({{"limit", "7"}, {"limit", "7"}}).field == "limit");
  CHECK(refused<ListOrchestrations>({{"order", "ASC"}, {"order", "DESC"}}).field == "order");
  CHECK(refused<ListOrchestrations>({{"page_cursor", ""}, {"page_cursor", ""}}).field ==
        "page_cursor");
}

TEST_CASE("invalid values are refused by name") {
  const Parameters wrong{{"limit", "0"},
                         {"limit", "1001"},
                         {"limit", "-1"},
                         {"limit", "+1"},
                         {"limit", "1.0"},
                         {"limit", ""},
                         {"limit", "ten"},
                         {"limit", "4294967297"},
                         {"order", "asc"},
                         {"order", ""},
                         {"created_at.lt", "2026-02-31"},
                         {"created_at.lte", "2026-02-30T00:00:00Z"},
                         {"created_at.eq", "2026-01-31 00:00:00Z"},
                         {"created_at.gte", "2026-01-31T00:00:00"},
                         {"created_at.gt", "1767225600"},
                         {"identity_id", "a b"},
                         {"identity_id", ""},
                         {"include_deleted", "True"},
                         {"include_deleted", "1"},
                         {"include_deleted", ""},
                         {"active_at", "now"},
                         {"type", "PAUSED"},
                         {"type", "closed"},
                         {"type", "CLOSED,FROZEN"},
                         {"set_by", "OPERATOR"},
                         {"reason_code", "lower"},
                         {"customer_id", std::string(129, 'x')}};
  for (const Parameter& parameter : wrong) {
    CAPTURE(parameter.name);
    CAPTURE(parameter.value);
    const Refusal refusal = refused<ListControls>({parameter});
    CHECK(refusal.code == "invalid-request");
    CHECK(refusal.field == parameter.name);
  }
  for (const char* limit : {"1", "1000"}) {
    CHECK(refused<ListControls>({{"limit", limit}}).code.empty());
  }
}

TEST_CASE("an array takes at most 100 values") {
  Parameters parameters;
  for (int i = 0; i < 100; ++i) parameters.push_back({"ref_id", "r" + std::to_string(i)});
  CHECK(read<ListOrchestrations>(parameters).ref_id.size() == 100);
  parameters.push_back({"ref_id", "r100"});
  CHECK(refused<ListOrchestrations>(parameters).field == "ref_id");
  parameters.back().value = "r0";  // repeated values count
  CHECK(refused<ListOrchestrations>(parameters).field == "ref_id");
}

TEST_CASE("missing required parameters are refused") {
  CHECK(refused<ById>({}).field == "id");
  CHECK(refused<PermitsAction>({{"id", "i1"}}).field == "action");
  CHECK(refused<PermitsAction>({{"id", "i1"}, {"action", "SELL"}}).code.empty());
}

TEST_CASE("all errors are reported at once") {
  ListControls request;
  const Parameters parameters{{"limit", "0"}, {"order", "UP"}, {"nonsense", "1"}};
  try {
    read_parameters<ListControls>(parameters, request, field_names<ListControls>);
    FAIL("not refused");
  } catch (const Error& error) {
    REQUIRE(error.errors().size() == 3);
    CHECK(error.errors()[0].field == "limit");
    CHECK(error.errors()[1].field == "order");
    CHECK(error.errors()[2].field == "nonsense");
    for (const FieldError& refused : error.errors()) CHECK_FALSE(refused.message.empty());
  }
}

TEST_CASE("only the allowed parameters are read") {
  ListControls request;
  const std::array<std::string_view, 1> allowed{"type"};
  const Parameters parameters{{"limit", "1"}};
  CHECK(refusal_of([&] { read_parameters<ListControls>(parameters, request, allowed); }).field ==
        "limit");
  CHECK(refusal_of([&] { read_parameters<ListControls>(parameters, request, {}); }).field ==
        "limit");
  CHECK(refusal_of([&] { read_parameters<ListControls>({}, request, {}); }).code.empty());
}

}  // namespace
}  // namespace comptroller::service
