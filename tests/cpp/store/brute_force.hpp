// Lists through the door, page by page, held against a filter over the same records in memory.
#pragma once

#include <algorithm>
#include <functional>
#include <random>
#include <set>

#include "service/ingestion.hpp"
#include "service/scans.hpp"
#include "service/world.hpp"

namespace comptroller::store {

using service::Json;
using service::Parameters;
using service::World;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}

  std::size_t below(std::size_t count) { return engine_() % count; }
  bool chance(std::size_t percent) { return below(100) < percent; }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[below(from.size())];
  }
  // Nothing, some of the time.
  template <class Made>
  std::optional<Made> maybe(const std::vector<std::string>& from) {
    if (chance(25)) return std::nullopt;
    return Scalar<Made>::parse(pick(from));
  }
  // One of few moments, so that many records share one.
  Timestamp moment() { return moments()[below(moments().size())]; }

  static const std::vector<Timestamp>& moments() {
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

// Parameters of a list, and what they mean.
template <class R>
struct Filter {
  Parameters parameters;
  std::vector<std::function<bool(const R&)>> conditions;

  // Rows of which one of `values` is a value.
  void among(const std::string& name, const std::vector<std::string>& values,
             const std::function<std::vector<std::string>(const R&)>& values_of) {
    for (const std::string& value : values) parameters.push_back({name, value});
    conditions.push_back([values, values_of](const R& record) {
      const std::vector<std::string> of_record = values_of(record);
      return std::ranges::find_first_of(of_record, values) != of_record.end();
    });
  }
  void bound(const std::string& name, Timestamp moment,
             const std::function<bool(Timestamp, Timestamp)>& holds) {
    parameters.push_back({name, to_string(moment)});
    conditions.push_back(
        [moment, holds](const R& record) { return holds(record.created_at, moment); });
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
    return {std::string(word(value))};
  } else {
    return {value.value};
  }
}

// Gives all pages of a list as ids, asked for in pages of `size`.
inline std::vector<std::string> walk(World& world, const Principal& who, const std::string& list,
                                     const Parameters& parameters, std::size_t size,
                                     const std::string& member) {
  std::vector<std::string> ids;
  std::string cursor;
  do {
    Parameters page = parameters;
    page.push_back({"limit", std::to_string(size)});
    page.push_back({"page_cursor", cursor});
    const Json answer = world.call(who, list, page);
    const std::vector<std::string> more = answer.each("/items", member);
    ids.insert(ids.end(), more.begin(), more.end());
    cursor = answer.at("/next_page_cursor");
    // A page is full while another follows.
    if (more.size() > size || (!cursor.empty() && more.size() != size)) return {"a page is off"};
  } while (!cursor.empty());
  return ids;
}

// The same rows as streams and exports read them: in order of arrival.
template <class R>
std::vector<std::string> scan_ids(World& world, const Principal& who, const std::string& list,
                                  const Parameters& parameters, const std::string& member) {
  const std::string kind = list.substr(0, list.find('.'));
  const service::Scan scan =
      service::scan(world.service, who, kind, parameters, service::Purpose::reload);
  const db::Lease connection = world.service.database()->reader();
  const db::Snapshot snapshot(*connection);
  Listing listing = scan.listing(*connection);
  db::Query rows = listing.scan(0, std::numeric_limits<std::int64_t>::max());
  std::vector<std::string> ids;
  while (rows.step()) {
    std::string row;
    append_row<R>(row, rows, connection->symbols(), json::Audience::provider);
    ids.push_back(Json(row).at("/" + member));
  }
  return ids;
}

using PageSizes = std::vector<std::size_t>;
inline const PageSizes small_pages{1, 2, 3, 4, 5, 6, 7, 1000};
inline const PageSizes large_pages{40, 1000};

// Holds a list against `expected`, the ids in order of arrival with their moments: both orders, all
// page sizes.
template <class R>
void check_list(World& world, const Principal& who, const std::string& list,
                const Parameters& parameters,
                std::vector<std::pair<Timestamp, std::string>> expected,
                const std::string& member = "id", const PageSizes& sizes = small_pages) {
  std::string shown = list;
  for (const auto& [name, value] : parameters)
    shown.append(" ").append(name).append("=").append(value);
  CAPTURE(shown);
  std::vector<std::string> ids;
  for (const auto& [moment, id] : expected) ids.push_back(id);
  CHECK(scan_ids<R>(world, who, list, parameters, member) == ids);

  std::ranges::stable_sort(expected, {}, &std::pair<Timestamp, std::string>::first);
  ids.clear();
  for (const auto& [moment, id] : expected) ids.push_back(id);
  for (const std::size_t size : sizes) {
    CAPTURE(size);
    Parameters ascending = parameters;
    ascending.push_back({"order", "ASC"});
    CHECK(walk(world, who, list, ascending, size, member) == ids);
    std::ranges::reverse(ids);
    CHECK(walk(world, who, list, parameters, size, member) == ids);
    std::ranges::reverse(ids);
  }
}

// The principals that may list, each with the parameters it adds and the customer it is shown.
struct Asker {
  const Principal* who;
  Parameters more;
  std::string customer;  // empty: all
};
inline std::vector<Asker> askers(const World& world) {
  return {{&world.acme, {}, "acme"},
          {&world.provider, {}, ""},
          {&world.provider, {{"customer_id", "zenith"}}, "zenith"},
          {&world.provider, {{"customer_id", "nobody"}}, "nobody"}};
}

// Holds a list under one filter against the records in order of arrival.
template <class R, class Records>
void check_filter(World& world, const std::string& list, const Records& records,
                  const Filter<typename Records::value_type>& filter, const Asker& asker,
                  const PageSizes& sizes = small_pages) {
  std::vector<std::pair<Timestamp, std::string>> expected;
  for (const auto& record : records) {
    const bool is_shown = asker.customer.empty() || customer_of(record) == asker.customer;
    if (is_shown && filter.takes(record)) expected.emplace_back(record.created_at, record.id.value);
  }
  Parameters parameters = filter.parameters;
  parameters.insert(parameters.end(), asker.more.begin(), asker.more.end());
  check_list<R>(world, *asker.who, list, parameters, std::move(expected), "id", sizes);
}

// Takes records into the store in order, as a load of the operator does.
template <class Records>
void arrive(World& world, const Records& records) {
  world.service.database()->write([&](db::Connection& connection) {
    service::Ingestion ingestion(connection, world.provider, "default", world.now,
                                 world.service.environment().make_id);
    for (auto record : records) ingestion.take(record);
    ingestion.finish();
  });
}

inline const std::vector<std::string> customers{"acme", "zenith", "default"};

}  // namespace comptroller::store
