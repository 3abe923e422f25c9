// Compares lists of the service, page by page, with a filter over the same records in memory.
#pragma once

#include <algorithm>
#include <functional>
#include <random>
#include <set>

#include "service/ingestion.hpp"
#include "service/scans.hpp"
#include "service/service_fixture.hpp"
#include "store/writing.hpp"

namespace comptroller::store {

using service::Json;
using service::Parameters;
using service::ServiceFixture;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}

  std::size_t below(std::size_t count) { return engine_() % count; }
  bool chance(std::size_t percent) { return below(100) < percent; }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[below(from.size())];
  }
  // Returns nothing with some probability.
  template <class Made>
  std::optional<Made> maybe(const std::vector<std::string>& from) {
    if (chance(25)) return std::nullopt;
    return FieldType<Made>::parse(pick(from));
  }
  // Returns one of few times, so that many records have the same time.
  Timestamp instant() { return instants()[below(instants().size())]; }

  static const std::vector<Timestamp>& instants() {
    static const std::vector<Timestamp> all = [] {
      std::vector<Timestamp> made;
      for (const char* text :
           {"1969-12-31T23:59:59.999999Z", "1970-01-01T00:00:00Z", "2026-01-01T00:00:00Z",
            "2026-01-01T00:00:00.000001Z", "2026-01-01T00:00:00.000002Z", "2026-02-01T00:00:00Z"}) {
        made.push_back(*Timestamp::parse(text));
      }
      return made;
    }();
    return all;
  }

 private:
  std::mt19937_64 engine_;
};

// Parameters of a list, and the records that they select.
template <class R>
struct Filter {
  Parameters parameters;
  std::vector<std::function<bool(const R&)>> conditions;

  // Selects rows that have one of the values.
  void among(const std::string& name, const std::vector<std::string>& values,
             const std::function<std::vector<std::string>(const R&)>& values_of) {
    for (const std::string& value : values) parameters.push_back({name, value});
    conditions.push_back([values, values_of](const R& record) {
      const std::vector<std::string> of_record = values_of(record);
      return std::ranges::find_first_of(of_record, values) != of_record.end();
    });
  }
  void bound(const std::string& name, Timestamp instant,
             const std::function<bool(Timestamp, Timestamp)>& holds) {
    parameters.push_back({name, to_string(instant)});
    conditions.push_back(
        [instant, holds](const R& record) { return holds(record.created_at, instant); });
  }
  void condition(const std::string& name, const std::string& value,
                 std::function<bool(const R&)> holds) {
    parameters.push_back({name, value});
    conditions.push_back(std::move(holds));
  }
  bool takes(const R& record) const {
    return std::ranges::all_of(conditions, [&](const auto& holds) { return holds(record); });
  }
};

struct Bound {
  const char* name;
  bool (*holds)(Timestamp, Timestamp);
};
inline const std::vector<Bound> created_at_bounds{
    {"created_at.lt", [](Timestamp a, Timestamp b) { return a < b; }},
    {"created_at.lte", [](Timestamp a, Timestamp b) { return a <= b; }},
    {"created_at.eq", [](Timestamp a, Timestamp b) { return a == b; }},
    {"created_at.gte", [](Timestamp a, Timestamp b) { return a >= b; }},
    {"created_at.gt", [](Timestamp a, Timestamp b) { return a > b; }},
};
inline const std::vector<Bound> claim_bounds{
    {"start_time", [](Timestamp a, Timestamp b) { return a >= b; }},
    {"end_time", [](Timestamp a, Timestamp b) { return a <= b; }},
};

template <class T>
std::vector<std::string> text_of(const T& value) {
  if constexpr (is_optional<T>) {
    return value ? text_of(*value) : std::vector<std::string>{};
  } else if constexpr (ClosedSet<T>) {
    return {std::string(enum_text(value))};
  } else {
    return {value.value};
  }
}

// Returns the ids of all pages of a list, requested in pages of `size`.
inline std::vector<std::string> ids_of_all_pages(ServiceFixture& fixture,
                                                 const Principal& principal,
                                                 const std::string& list,
                                                 const Parameters& parameters, std::size_t size,
                                                 const std::string& member) {
  std::vector<std::string> ids;
  std::string cursor;
  do {
    Parameters page = parameters;
    page.push_back({"limit", std::to_string(size)});
    page.push_back({"page_cursor", cursor});
    const Json answer = fixture.call(principal, list, page);
    const std::vector<std::string> more = answer.each("/items", member);
    ids.insert(ids.end(), more.begin(), more.end());
    cursor = answer.at("/next_page_cursor");
    // In small stores a page is full if another follows.
    if (more.size() > size || (!cursor.empty() && more.size() != size))
      return {"a page has a wrong size"};
  } while (!cursor.empty());
  return ids;
}

inline Listing listing_of(ServiceFixture& fixture, db::Connection& connection,
                          const Principal& principal, const std::string& list,
                          const Parameters& filters,
                          service::Purpose purpose = service::Purpose::analysis) {
  const std::string kind = list.substr(0, list.find('.'));
  return service::scan(fixture.service, principal, kind, filters, purpose).listing(connection);
}

// Returns the same ids from pages that visit at most `max_visited` rows each.
template <class R>
std::vector<std::string> ids_of_short_pages(ServiceFixture& fixture, const Principal& principal,
                                            const std::string& list, const Parameters& filters,
                                            Order order, std::size_t max_visited,
                                            const std::string& member) {
  const db::Lease connection = fixture.service.database()->reader();
  const db::Snapshot snapshot(*connection);
  const Listing listing = listing_of(fixture, *connection, principal, list, filters);
  PageQuery page{order, std::nullopt, 1 + static_cast<std::int64_t>(max_visited) / 2,
                 static_cast<std::int64_t>(max_visited)};
  std::vector<std::string> ids;
  do {
    PageRows rows = listing.run(page);
    std::int64_t count = 0;
    for (; rows.step(); ++count) {
      std::string row;
      append_row<R>(row, rows.row(), connection->symbols(), json::Audience::provider);
      ids.push_back(Json(row).at("/" + member));
    }
    if (count > page.limit) return {"a page has a wrong size"};
    page.position = rows.next_page();
    if (rows.step() || rows.next_page() != page.position) return {"a page continues after its end"};
  } while (page.position);
  return ids;
}

// Returns the number of claims of a jurisdiction on a page that visits at most `max_visited`
// claims; nullopt if another page follows.
inline std::optional<std::int64_t> count_on_only_page(ServiceFixture& fixture,
                                                      const Principal& principal,
                                                      const std::string& jurisdiction,
                                                      std::int64_t max_visited) {
  const db::Lease connection = fixture.service.database()->reader();
  const db::Snapshot snapshot(*connection);
  const Listing listing =
      listing_of(fixture, *connection, principal, "claims.list", {{"jurisdiction", jurisdiction}});
  PageRows rows = listing.run({Order::desc, std::nullopt, 1000, max_visited});
  std::int64_t count = 0;
  while (rows.step()) ++count;
  return rows.next_page() ? std::nullopt : std::optional(count);
}

// Returns the same rows as streams and exports read them, in order of insertion.
template <class R>
std::vector<std::string> scan_ids(ServiceFixture& fixture, const Principal& principal,
                                  const std::string& list, const Parameters& parameters,
                                  const std::string& member) {
  const db::Lease connection = fixture.service.database()->reader();
  const db::Snapshot snapshot(*connection);
  const Listing listing =
      listing_of(fixture, *connection, principal, list, parameters, service::Purpose::exporting);
  db::Query rows = listing.scan({0, std::numeric_limits<std::int64_t>::max()});
  std::vector<std::string> ids;
  while (rows.step()) {
    std::string row;
    append_row<R>(row, rows, connection->symbols(), json::Audience::provider);
    ids.push_back(Json(row).at("/" + member));
  }
  return ids;
}

using PageSizes = std::vector<std::size_t>;
inline const PageSizes& small_pages() {
  static const PageSizes all{1, 2, 3, 4, 5, 6, 7, 1000};
  static const PageSizes of_server{3, 1000};  // where each page is a round trip
  return db::tests_use_sqlite() ? all : of_server;
}
inline const PageSizes large_pages{40, 1000};

// Compares a list with `expected`, the ids in order of insertion with their times, in both orders,
// with pages of all `sizes`, and pages that visit only that number of rows.
template <class R>
void check_list(ServiceFixture& fixture, const Principal& principal, const std::string& list,
                const Parameters& parameters,
                std::vector<std::pair<Timestamp, std::string>> expected,
                const std::string& member = "id", const PageSizes& sizes = small_pages()) {
  std::string shown = list;
  for (const auto& [name, value] : parameters)
    shown.append(" ").append(name).append("=").append(value);
  CAPTURE(shown);
  std::vector<std::string> ids;
  for (const auto& [instant, id] : expected) ids.push_back(id);
  CHECK(scan_ids<R>(fixture, principal, list, parameters, member) == ids);

  std::ranges::stable_sort(expected, {}, &std::pair<Timestamp, std::string>::first);
  ids.clear();
  for (const auto& [instant, id] : expected) ids.push_back(id);
  for (const std::size_t size : sizes) {
    CAPTURE(size);
    Parameters ascending = parameters;
    ascending.push_back({"order", "ASC"});
    CHECK(ids_of_all_pages(fixture, principal, list, ascending, size, member) == ids);
    CHECK(ids_of_short_pages<R>(fixture, principal, list, parameters, Order::asc, size, member) ==
          ids);
    std::ranges::reverse(ids);
    CHECK(ids_of_all_pages(fixture, principal, list, parameters, size, member) == ids);
    CHECK(ids_of_short_pages<R>(fixture, principal, list, parameters, Order::desc, size, member) ==
          ids);
    std::ranges::reverse(ids);
  }
}

// A principal that may list, with the parameters that it adds and the customer that it sees.
struct Caller {
  const Principal* principal;
  Parameters more;
  std::string customer;  // empty: all
};
inline std::vector<Caller> callers(const ServiceFixture& fixture) {
  return {{&fixture.acme, {}, "acme"},
          {&fixture.provider, {}, ""},
          {&fixture.provider, {{"customer_id", "zenith"}}, "zenith"},
          {&fixture.provider, {{"customer_id", "nobody"}}, "nobody"}};
}

// Compares a list with one filter with the records in order of insertion.
template <class R, class Records>
void check_filter(ServiceFixture& fixture, const std::string& list, const Records& records,
                  const Filter<typename Records::value_type>& filter, const Caller& caller,
                  const PageSizes& sizes = small_pages()) {
  std::vector<std::pair<Timestamp, std::string>> expected;
  for (const auto& record : records) {
    const bool is_shown = caller.customer.empty() || customer_of(record) == caller.customer;
    if (is_shown && filter.takes(record)) expected.emplace_back(record.created_at, record.id.value);
  }
  Parameters parameters = filter.parameters;
  parameters.insert(parameters.end(), caller.more.begin(), caller.more.end());
  check_list<R>(fixture, *caller.principal, list, parameters, std::move(expected), "id", sizes);
}

// Stores records in order, like a load of the operator.
template <class Records>
void store_records(ServiceFixture& fixture, const Records& records) {
  fixture.service.database()->write([&](db::Connection& connection) {
    Writing writing(connection);
    service::Ingestion ingestion(writing, fixture.provider, "default", fixture.now,
                                 fixture.service.environment().make_id);
    for (auto record : records) ingestion.take(record);
    ingestion.finish();
  });
}

inline const std::vector<std::string> customers{"acme", "zenith", "default"};

}  // namespace comptroller::store
