#include "export/exporter.hpp"

#include <doctest/doctest.h>

#include <string>

#include "load/folder.hpp"
#include "service/service_fixture.hpp"

namespace comptroller::exporting {
namespace {

// Returns the JSON of metadata of 25 KiB.
std::string large_metadata() {
  std::string json;
  for (int key = 10; key < 60; ++key) {
    json += (json.empty() ? "{\"" : ",\"") + std::to_string(key) + "\":\"" + std::string(512, 'x') +
            '"';
  }
  return json + '}';
}

TEST_CASE("an export checks for an interrupt after each few megabytes of large records") {
  service::ServiceFixture fixture;
  const std::string metadata = large_metadata();
  constexpr int count = 400;
  for (int number = 0; number < count; ++number) {
    fixture.call(fixture.provider, "identities.put", {},
                 R"({"id":"i)" + std::to_string(number) + R"(","customer_id":"acme","metadata":)" +
                     metadata + '}');
  }
  const load::Folder folder;
  int checks = 0;
  const ExportOptions options{"identities", folder / "identities", "ndjson", [&] { ++checks; }};
  CHECK(export_rows(fixture.service, fixture.provider, options, {}).rows == count);
  CHECK(checks >= 3);  // 10 MiB in parts of 4 MiB
}

}  // namespace
}  // namespace comptroller::exporting
