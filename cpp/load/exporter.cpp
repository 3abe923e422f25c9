#include "load/exporter.hpp"

#include <limits>

#include "load/csv.hpp"
#include "load/export_file.hpp"
#include "model/error.hpp"
#include "model/scalar.hpp"
#include "service/scans.hpp"

namespace comptroller::load {

namespace {

constexpr std::uint64_t rows_between_progress = 10'000;

// Writes rows of R.
template <Record R>
std::uint64_t write_rows(db::Connection& connection, store::Listing listing,
                         json::Audience audience, const ExportOptions& options) {
  const bool is_csv = options.format == "csv";
  ExportFile file(options.path);
  if (is_csv) append_csv_header<R>(file.buffer(), audience);
  listing.select(store::select_list<R>(), R::fields::count);
  db::Query rows = listing.scan(connection, 0, std::numeric_limits<std::int64_t>::max());
  std::uint64_t count = 0;
  while (rows.step()) {
    if (is_csv) {
      append_csv_row<R>(file.buffer(), rows, connection.symbols(), audience);
    } else {
      store::append_row<R>(file.buffer(), rows, connection.symbols(), audience);
      file.buffer() += '\n';
    }
    file.flush_if_large();
    if (++count % rows_between_progress == 0 && options.progress) options.progress(count);
  }
  file.commit();
  return count;
}

using WriteRows = std::uint64_t (*)(db::Connection&, store::Listing, json::Audience,
                                    const ExportOptions&);

WriteRows writer_of(std::string_view kind) {
  if (kind == "identities") return &write_rows<StoredIdentity>;
  if (kind == "controls") return &write_rows<Control>;
  if (kind == "orchestrations") return &write_rows<Orchestration>;
  if (kind == "payout_groups") return &write_rows<PayoutGroup>;
  if (kind == "reward_addresses") return &write_rows<RewardAddress>;
  if (kind == "claims") return &write_rows<Claim>;
  return &write_rows<Balance>;
}

}  // namespace

std::uint64_t export_rows(service::Service& service, const Principal& principal,
                          const ExportOptions& options,
                          std::span<const service::Parameter> filters) {
  const service::Scan scan =
      service::scan(service, principal, options.kind, filters, service::Balances::hidden);
  if (options.format != "ndjson" && options.format != "csv") {
    throw Error::invalid("format", refused_text("ndjson or csv", options.format));
  }
  const db::Database& database = *service.database();
  if (database.owns(options.path) || database.owns(ExportFile::part_of(options.path))) {
    throw Error::invalid("path", "is the store itself; name another file");
  }
  const db::Lease connection = service.database()->reader();
  const db::Snapshot snapshot(*connection);
  return writer_of(options.kind)(*connection, scan.listing(*connection), scan.audience, options);
}

}  // namespace comptroller::load
