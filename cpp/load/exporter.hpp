// Everything of a kind as a file: NDJSON that loads back to an equal store, or CSV.
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
  // Told the rows done so far, now and then; may throw to end the export, which leaves no file.
  std::function<void(std::uint64_t rows)> progress;
};

// Writes the rows that the filters select, in order of arrival, as one moment shows them; gives
// their number. What is derived or kept elsewhere (an identity's status, an address's balance) is
// left out. The file appears whole or not at all. Refuses as lists do; unavailable names path and
// reason.
std::uint64_t export_rows(service::Service& service, const Principal& principal,
                          const ExportOptions& options,
                          std::span<const service::Parameter> filters);

}  // namespace comptroller::load
