#include "load/exporter.hpp"

#include <limits>

#include "files/whole_file.hpp"
#include "load/csv.hpp"
#include "model/error.hpp"
#include "model/scalar.hpp"
#include "service/scans.hpp"

namespace comptroller::load {

namespace {

constexpr std::uint64_t rows_between_checks = 10'000;

// Writes rows of R.
template <Record R>
std::uint64_t write_rows(db::Connection& connection, store::Listing listing, Audience audience,
                         const ExportOptions& options) {
  const bool is_csv = options.format == "csv";
  files::WholeFile file(options.path);
  if (is_csv) append_csv_header<R>(file.buffer(), audience);
  listing.select(store::select_list<R>());
  db::Query rows = listing.scan(0, std::numeric_limits<std::int64_t>::max());
  std::uint64_t count = 0;
  while (rows.step()) {
    if (is_csv) {
      append_csv_row<R>(file.buffer(), rows, connection.symbols(), audience);
    } else {
      store::append_row<R>(file.buffer(), rows, connection.symbols(), audience);
      file.buffer() += '\n';
    }
    file.flush_if_large();
    if (++count % rows_between_checks == 0 && options.check_interrupt) options.check_interrupt();
  }
  file.commit();
  return count;
}

}  // namespace

std::uint64_t export_rows(service::Service& service, const Principal& principal,
                          const ExportOptions& options,
                          std::span<const service::Parameter> filters) {
  const service::Scan scan =
      service::scan(service, principal, options.kind, filters, service::Purpose::reload);
  if (options.format != "ndjson" && options.format != "csv") {
    throw Error::invalid("format", refused_text("ndjson or csv", options.format));
  }
  if (service.database()->owns(options.path)) {
    throw Error::invalid("path", "is the store itself; name another file");
  }
  const auto snapshots = service.database()->readers_of_one_snapshot(1);
  db::Connection& connection = *snapshots.front();
  std::uint64_t count = 0;
  store::visit_table(options.kind, [&]<Record R>() {
    count = write_rows<R>(connection, scan.listing(connection), scan.audience, options);
  });
  return count;
}

}  // namespace comptroller::load
