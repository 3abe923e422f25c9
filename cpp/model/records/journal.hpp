// What the journal says of a batch: records that were inserted together. The members are sorted by
// name, as RFC 8785 asks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/scalar.hpp"

namespace comptroller {

struct BatchPart {
  RECORD(BatchPart, "The records of one table that were inserted together.");
  FIELD(std::uint64_t, count, "how many");
  FIELD(std::uint64_t, first_key, "the key of the first");
  FIELD(std::uint64_t, last_key, "the key of the last");
  FIELD(std::string, resource, "the table, such as ``claims``");
  FIELD(std::string, root,
        "root of the Merkle tree (RFC 9162) over the records' canonical JSON, in order of key");
};

struct Batch {
  RECORD(Batch, "Records that were inserted together, by a load or before the journal began.");
  FIELD(std::optional<std::string>, customer_id, "the customer of lines without one");
  FIELD(std::optional<std::string>, input, "the name of the input, such as that of a file");
  FIELD(
      std::optional<std::string>, input_sha256,
      "SHA-256 of the file, or of the NDJSON lines of another input; in the last entry of a load");
  FIELD(std::optional<std::uint64_t>, inserted, "how many of the lines inserted a record");
  FIELD(std::optional<bool>, keep_going, "whether the load stores the valid lines of any input");
  FIELD(std::optional<std::uint64_t>, lines, "the number of lines that were read so far");
  FIELD(std::optional<std::string>, mapping,
        "the options that say how the input became records, as JSON text, without the defaults");
  FIELD(std::vector<BatchPart>, records, "the records, by table");
  FIELD(std::optional<std::uint64_t>, rejected, "how many of the lines were rejected");
  FIELD(std::optional<std::uint64_t>, unchanged, "how many of the lines changed nothing");
  FIELD(std::optional<std::uint64_t>, updated, "how many of the lines changed a record");
};

struct Archive {
  RECORD(Archive, "Entries that were moved to a file, and all records at that time.");
  FIELD(std::uint64_t, entries, "how many, from the first one on");
  FIELD(std::string, file_sha256, "SHA-256 of the file");
  FIELD(std::vector<BatchPart>, records, "the records, by table");
  FIELD(std::string, root, "root of the Merkle tree over the entries");
};

}  // namespace comptroller
