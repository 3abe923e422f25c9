#include "export/exporter.hpp"

#include <algorithm>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "db/interrupt.hpp"
#include "export/csv_rows.hpp"
#include "files/text_pieces.hpp"
#include "files/whole_file.hpp"
#include "model/error.hpp"
#include "model/scalar.hpp"
#include "service/scans.hpp"
#include "store/tables.hpp"

namespace comptroller::exporting {

namespace {

constexpr std::int64_t keys_per_piece = 4'096;
constexpr std::int64_t keys_of_small = 4 * keys_per_piece;  // read on one connection
// In bytes; a piece ends after the row that reaches it.
constexpr std::size_t large_piece = std::size_t{4} << 20U;
constexpr std::size_t max_connections = 4;

// Formats rows of R, read on a connection of its own. For one thread at a time.
template <Record R>
class RowFormatter {
 public:
  RowFormatter(db::Lease snapshot, const service::Scan& scan, bool is_csv)
      : snapshot_(std::move(snapshot)),
        listing_(scan.listing(*snapshot_)),
        audience_(scan.audience),
        is_csv_(is_csv) {
    listing_.select(store::select_list<R>() + ", key");
  }

  // Begins the piece at the first row, or the first row after `last_key`, and sets `last_key` to
  // the end of the piece. Returns false if there is no such row.
  bool begin(std::optional<std::int64_t>& last_key) {
    const auto keys = last_key ? listing_.keys_after(*last_key, keys_per_piece)
                               : listing_.first_keys(keys_per_piece);
    if (!keys) return false;
    keys_ = *keys;
    last_key = keys_.last;
    is_at_end_ = false;
    return true;
  }
  bool is_at_end() const { return is_at_end_; }

  // Replaces a text by the next rows, until it is large; returns their number.
  std::int64_t format(std::string& out) {
    db::Query rows = listing_.scan(keys_);
    if (is_csv_) {
      out.clear();
      return format(rows, [&] {
        append_csv_row<R>(out, rows, snapshot_->symbols(), audience_);
        return out.size();
      });
    }
    auto json = json::JsonWriter::replacing(out, audience_);
    return format(rows, [&] {
      json.write_record<R>(store::Row{rows, snapshot_->symbols()});
      json.put("\n");
      return json.size();
    });
  }

 private:
  // `append` appends a row and returns the size of the text.
  std::int64_t format(db::Query& rows, auto append) {
    constexpr int key = field_count<R>;
    std::int64_t count = 0;
    while (rows.step()) {
      ++count;
      if (append() < large_piece || rows.number(key) == keys_.last) continue;
      keys_.from = rows.number(key) + 1;
      return count;
    }
    is_at_end_ = true;
    return count;
  }

  db::Lease snapshot_;
  store::Listing listing_;
  Audience audience_;
  bool is_csv_;
  store::KeyRange keys_;  // not yet formatted, unless it is at the end
  bool is_at_end_ = true;
};

// Returns formatters that read one snapshot: a single one for a small table.
template <Record R>
std::vector<RowFormatter<R>> make_formatters(db::Database& database, const service::Scan& scan,
                                             bool is_csv) {
  const auto is_small_now = [&] {
    const db::Lease connection = database.reader();
    const db::Snapshot snapshot(*connection);
    return !scan.listing(*connection).keys_after(keys_of_small, 1);
  };
  const bool is_small = is_small_now();
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  std::vector<RowFormatter<R>> formatters;
  for (db::Lease& snapshot :
       database.readers_of_one_snapshot(is_small ? 1 : std::min(cores + 1, max_connections))) {
    formatters.emplace_back(std::move(snapshot), scan, is_csv);
  }
  return formatters;
}

// Requests a stop at the end of its scope.
class StopAtEnd {
 public:
  StopAtEnd() = default;
  ~StopAtEnd() { source_.request_stop(); }
  StopAtEnd(const StopAtEnd&) = delete;
  StopAtEnd& operator=(const StopAtEnd&) = delete;

  std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
};

// Writes the rows of R in pieces of consecutive keys, which the formatters take in turn.
template <Record R>
Exported write_rows(db::Database& database, const service::Scan& scan, const ExportOptions& options,
                    const service::ObservedHead& head) {
  const bool is_csv = options.format == "csv";
  std::optional<files::WholeFile> file;
  if (!options.write) {
    file.emplace(options.path, files::WholeFile::Existing::replace, options.check_interrupt);
  }
  std::vector<RowFormatter<R>> formatters = make_formatters<R>(database, scan, is_csv);
  const auto formatter_of = [&](std::size_t piece) -> RowFormatter<R>& {
    return formatters[piece % formatters.size()];
  };

  // It is written with the first rows, so that an early failure writes nothing.
  std::string header;
  if (is_csv) append_csv_header<R>(header, scan.audience);
  std::uint64_t count = 0;
  const auto put = [&](std::string_view text) { file ? file->write(text) : options.write(text); };
  const auto write = [&](const files::TextPiece& piece) {
    if (!header.empty()) put(std::exchange(header, {}));
    put(piece.text);
    count += static_cast<std::uint64_t>(piece.rows);
    if (options.check_interrupt) options.check_interrupt();
  };

  // Destroyed, and so awaited, before the formatters.
  files::TextPieces pieces(formatters.size(), options.check_interrupt);
  const StopAtEnd stop;  // after an interrupt, the pieces are not awaited to their end
  std::size_t started = 0;
  std::optional<std::int64_t> last_key;
  for (std::size_t written = 0;; ++written) {
    while (!pieces.is_full() && formatter_of(started).begin(last_key)) {
      pieces.start([&formatter = formatter_of(started++), token = stop.token()](std::string& out) {
        const db::StopScope scope(token);
        return formatter.format(out);
      });
    }
    std::optional<files::TextPiece> piece = pieces.next();
    if (!piece) break;
    write(*piece);
    // Large rows: the rest of the piece, a part at a time, so that memory stays bounded.
    for (RowFormatter<R>& formatter = formatter_of(written); !formatter.is_at_end();) {
      piece->rows = formatter.format(piece->text);
      write(*piece);
    }
  }
  if (!header.empty()) put(header);
  Exported exported{count, head.get()};
  if (file) file->commit();  // last, because whatever fails leaves no file
  return exported;
}

}  // namespace

Exported export_rows(service::Service& service, const Principal& principal,
                     const ExportOptions& options, std::span<const service::Parameter> filters) {
  const auto head = std::make_shared<service::ObservedHead>();
  const service::Scan scan = service::observe_head(
      service,
      service::scan(service, principal, options.kind, filters, service::Purpose::exporting),
      principal, head);
  if (options.format != "ndjson" && options.format != "csv") {
    throw Error::invalid("format", refused_text("ndjson or csv", options.format));
  }
  if (!options.write && service.database()->owns(options.path)) {
    throw Error::invalid("path", "is the store itself; name another file");
  }
  Exported exported;
  store::visit_table(options.kind, [&]<Record R>() {
    exported = write_rows<R>(*service.database(), scan, options, *head);
  });
  return exported;
}

}  // namespace comptroller::exporting
