// Exports the records of a kind as NDJSON, which loads back to an equal store, or as CSV.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "service/service.hpp"

namespace comptroller::load {

struct ExportOptions {
  std::string kind;               // such as "claims" or "payout-groups"
  std::string path;               // "-": standard output
  std::string format = "ndjson";  // or "csv"
  // Called every 10,000 rows with their number so far; ends the export, without a file, by
  // throwing.
  std::function<void(std::uint64_t rows)> progress;
};

// Writes the rows that the filters select, in order of arrival and from one snapshot; returns their
// number. Derived values (an identity's status, an address's balance) are left out. The file
// appears whole or not at all. Throws what lists throw, and unavailable with the path and the
// reason.
std::uint64_t export_rows(service::Service& service, const Principal& principal,
                          const ExportOptions& options,
                          std::span<const service::Parameter> filters);

}  // namespace comptroller::load
