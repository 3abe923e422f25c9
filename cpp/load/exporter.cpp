#include "load/exporter.hpp"

#include <algorithm>
#include <thread>

#include "files/text_pieces.hpp"
#include "files/whole_file.hpp"
#include "load/csv.hpp"
#include "model/error.hpp"
#include "model/scalar.hpp"
#include "service/scans.hpp"

namespace comptroller::load {

namespace {

constexpr std::int64_t keys_a_piece = 4'096;
constexpr std::size_t max_pieces = 4;  // being formatted at a time, each by its own connection

// Replaces a text by the rows of R with keys in [from, before); returns their number.
template <Record R>
std::int64_t format_rows(std::string& out, db::Query rows, db::Symbols& symbols, Audience audience,
                         bool is_csv) {
  std::int64_t count = 0;
  if (is_csv) {
    out.clear();
    for (; rows.step(); ++count) append_csv_row<R>(out, rows, symbols, audience);
    return count;
  }
  auto json = json::JsonWriter::replacing(out, audience);
  for (; rows.step(); ++count) {
    json.write_record<R>(store::Row{rows, symbols});
    json.put("\n");
  }
  return count;
}

// Writes the rows of R. Each connection formats one piece of consecutive keys at a time.
template <Record R>
std::uint64_t write_rows(db::Database& database, const service::Scan& scan,
                         const ExportOptions& options) {
  const bool is_csv = options.format == "csv";
  files::WholeFile file(options.path);
  std::string header;
  if (is_csv) append_csv_header<R>(header, scan.audience);
  file.write(header);

  const bool is_small = scan.listing(*database.reader()).newest_key() <= keys_a_piece;
  const std::size_t threads = std::max(1U, std::thread::hardware_concurrency());
  const auto snapshots =
      database.readers_of_one_snapshot(is_small ? 1 : std::min(threads + 1, max_pieces));
  std::vector<store::Listing> listings;
  for (const db::Lease& snapshot : snapshots) {
    listings.push_back(scan.listing(*snapshot));
    listings.back().select(store::select_list<R>());
  }
  const std::int64_t newest = listings.front().newest_key();

  std::uint64_t count = 0;
  std::int64_t key = 0;
  files::TextPieces pieces(snapshots.size());  // destroyed, and so awaited, before the snapshots
  const auto start_piece = [&] {
    const std::size_t turn = static_cast<std::size_t>(key / keys_a_piece) % snapshots.size();
    pieces.start([&listing = listings[turn], &symbols = snapshots[turn]->symbols(), key, is_csv,
                  audience = scan.audience](std::string& out) {
      return format_rows<R>(out, listing.scan(key, key + keys_a_piece), symbols, audience, is_csv);
    });
    key += keys_a_piece;
  };
  while (true) {
    while (key <= newest && !pieces.is_full()) start_piece();
    const std::optional<files::TextPiece> piece = pieces.next();
    if (!piece) break;
    file.write(piece->text);
    count += static_cast<std::uint64_t>(piece->rows);
    if (options.check_interrupt) options.check_interrupt();
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
  std::uint64_t count = 0;
  store::visit_table(
      options.kind, [&]<Record R>() { count = write_rows<R>(*service.database(), scan, options); });
  return count;
}

}  // namespace comptroller::load
