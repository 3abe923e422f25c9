// Exports the records of a kind as CSV or as NDJSON, from which a load makes an equal store.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "service/journal.hpp"

namespace comptroller::exporting {

struct ExportOptions {
  std::string kind;               // such as "claims" or "payout-groups"
  std::string path;               // "-": standard output
  std::string format = "ndjson";  // or "csv"
  // Called often, by the thread of the caller. An exception ends the export without a file.
  std::function<void()> check_interrupt;
  // Receives the text in pieces, by the thread of the caller; nothing is then written to `path`.
  std::function<void(std::string_view)> write = {};
};

struct Exported {
  std::uint64_t rows = 0;
  std::optional<service::JournalHead> head = {};  // in the snapshot; for the operator
};

// Writes the rows that the filters select, in order of insertion and from one snapshot. Computed
// values (an identity's status, an address's balance) are omitted. The file is written completely
// or not at all. Throws the errors of lists, and unavailable or unusable with the path and the
// reason.
Exported export_rows(service::Service& service, const Principal& principal,
                     const ExportOptions& options, std::span<const service::Parameter> filters);

}  // namespace comptroller::exporting
