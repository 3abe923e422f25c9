// Compares batches of lines with the same lines taken one by one.
#include <doctest/doctest.h>

#include <random>
#include <variant>

#include "service/ingestion.hpp"
#include "service/maintenance.hpp"
#include "service/service_fixture.hpp"
#include "store/writing.hpp"

namespace comptroller::service {
namespace {

template <class... Lines>
using FileOf = std::variant<std::vector<Lines>...>;
using File =
    FileOf<IdentityLine, Control, Orchestration, PayoutGroup, RewardAddress, Claim, Balance>;

// Generates files whose lines repeat, contradict and follow each other: few ids, customers, times
// and values.
class FileGenerator {
 public:
  explicit FileGenerator(std::uint32_t seed) : random_(seed) {}

  std::vector<File> files() {
    std::vector<File> files;
    for (unsigned count = 4 + pick(8); count > 0; --count) files.push_back(file());
    return files;
  }

 private:
  unsigned pick(unsigned below) { return static_cast<unsigned>(random_() % below); }
  bool often() { return pick(4) > 0; }

  File file() {
    switch (pick(8)) {
      case 0:
        return lines(&FileGenerator::identity);
      case 1:
        return lines(&FileGenerator::control);
      case 2:
        return lines(&FileGenerator::orchestration);
      case 3:
        return lines(&FileGenerator::group);
      case 4:
        return lines(&FileGenerator::address);
      case 5:
        return lines(&FileGenerator::balance);
      default:
        return lines(&FileGenerator::claim);
    }
  }

  template <class Line>
  std::vector<Line> lines(Line (FileGenerator::*line)()) {
    std::vector<Line> made;
    for (unsigned count = pick(30); count > 0; --count) made.push_back((this->*line)());
    return made;
  }

  std::string id_of(char kind, unsigned below) {
    return std::string("00000000-0000-7000-8000-0000000000") + kind + std::to_string(pick(below));
  }
  Timestamp time() { return {start.microseconds + pick(4)}; }
  template <class Line>
  void complete(Line& line) {
    line.created_at = often() ? start : Timestamp{start.microseconds - 1};
    if constexpr (requires { line.updated_at; }) line.updated_at = UpdatedAt{time()};
    if (!often()) customer_of(line) = pick(2) == 0 ? "acme" : "zenith";
  }
  Ledger ledger() { return often() ? Ledger::ethereum : Ledger::ink; }

  IdentityLine identity() {
    IdentityLine line;
    line.id = Id{id_of('a', 6)};
    complete(line);
    if (!often()) line.ref_id = Label{"r" + std::to_string(pick(2))};
    if (!often()) line.user_disabled = pick(2) == 0;
    if (!often()) line.admin_disabled = pick(2) == 0;
    return line;
  }
  Control control() {
    Control line;
    line.id = Id{id_of('b', 9)};
    complete(line);
    line.identity_id = Id{id_of('a', 6)};
    line.type = pick(2) == 0 ? ControlType::sell_only : ControlType::closed;
    line.set_by = pick(2) == 0 ? SetBy::client : SetBy::provider;
    line.is_overridable = pick(2) == 0;
    if (!often()) line.deleted_at = time();
    return line;
  }
  Orchestration orchestration() {
    Orchestration line;
    line.id = Id{id_of('c', 9)};
    complete(line);
    line.status = Word{often() ? "PENDING" : "COMPLETED"};
    return line;
  }
  PayoutGroup group() {
    PayoutGroup line;
    line.id.value = id_of('d', 4);
    complete(line);
    line.ledger = ledger();
    if (often()) line.jurisdiction = Term{pick(2) == 0 ? "DE" : "FR"};
    return line;
  }
  RewardAddress address() {
    RewardAddress line;
    line.id.value = id_of('e', 6);
    complete(line);
    line.ledger = ledger();
    line.address = Label{"0x000000000000000000000000000000000000000" + std::to_string(pick(6))};
    if (often()) line.payout_group_id = GroupId{{id_of('d', 5)}};
    if (!often()) line.status = Word{"ACTIVE"};
    return line;
  }
  Claim claim() {
    Claim line;
    line.id = Id{id_of('f', 10)};
    complete(line);
    line.payout_group_id.value = id_of('d', 5);
    line.claim_type = Word{often() ? "CLAIM_ALL" : "CLAIM_SELECTED"};
    line.amount = NonNegativeAmount{std::to_string(pick(2))};
    line.onchain_status = static_cast<ClaimStatus>(pick(4));
    if (line.onchain_status == ClaimStatus::confirmed) line.confirmed_at = time();
    return line;
  }
  Balance balance() {
    Balance line;
    line.address_id.value = id_of('e', 6);
    line.balance = NonNegativeAmount{std::to_string(pick(2))};
    line.at = time();
    return line;
  }

  std::mt19937 random_;
};

// Returns the results of all lines, and the content of the store at the end.
std::string transcript(const std::vector<File>& files, std::size_t batch_size) {
  ServiceFixture fixture;
  std::string text;
  for (File file : files) {
    fixture.service.database()->write([&](db::Connection& connection) {
      store::Writing writing(connection);
      Ingestion ingestion(writing, fixture.provider, "default", fixture.now,
                          fixture.service.environment().make_id);
      std::visit(
          [&]<class Line>(std::vector<Line>& lines) {
            for (std::span<Line> rest(lines); !rest.empty();) {
              std::vector<NewLine<Line>> batch;
              for (Line& line : rest.first(std::min(batch_size, rest.size()))) {
                batch.push_back({&line});
              }
              rest = rest.subspan(batch.size());
              for (const LineResult& result : ingestion.take(batch)) {
                text += std::to_string(static_cast<int>(result.outcome));
                if (result.rejection) text += " " + std::string(result.rejection->detail());
                text += "\n";
              }
            }
          },
          file);
      ingestion.finish();
    });
  }
  for (const char* const kind : {"identities", "controls", "orchestrations", "payout_groups",
                                 "reward_addresses", "claims"}) {
    Parameters parameters{{"order", "ASC"}, {"limit", "1000"}};
    if (std::string_view(kind) == "controls") parameters.push_back({"include_deleted", "true"});
    if (std::string_view(kind) == "reward_addresses") {
      parameters.push_back({"include_balance", "true"});
    }
    text += fixture.call(fixture.provider, std::string(kind) + ".list", parameters).text() + "\n";
  }
  for (const char* const jurisdiction : {"DE", "FR"}) {
    text += fixture.call(fixture.provider, "claims.list", {{"jurisdiction", jurisdiction}}).text();
  }
  return text + check(fixture.service, fixture.provider);
}

TEST_CASE("batches of any size have the results of lines taken one by one") {
  std::size_t rejected = 0;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const std::vector<File> files = FileGenerator(seed).files();
    const std::string expected = transcript(files, 1);
    rejected += expected.find("already stored") != std::string::npos ? 1 : 0;
    for (const std::size_t batch_size : {2, 7, 1000}) {
      CAPTURE(batch_size);
      CHECK(transcript(files, batch_size) == expected);
    }
  }
  CHECK(rejected > 20);
}

}  // namespace
}  // namespace comptroller::service
