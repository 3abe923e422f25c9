// Entries that have the digest of all records: the first one of a journal, and that of an archive.
#pragma once

#include <functional>
#include <string>

#include "db/database.hpp"
#include "store/journal.hpp"

namespace comptroller::store {

// Called from time to time with the number of records that were read.
using RecordProgress = std::function<void(std::uint64_t records)>;

// Appends the entry "journal.begin", which has the records that the store already contains as one
// batch. Does nothing if there are entries. Reads a record at a time.
void begin_journal(db::Connection& connection, Timestamp now, const RecordProgress& progress);

// The entries that were written to a file: the first `size`.
struct ArchiveFile {
  std::uint64_t size = 0;
  std::string sha256;  // of the file, hexadecimal
  std::string root;    // of the tree over the entries, hexadecimal
};

// Deletes the entries that a durable file has, and appends the entry "journal.archive", which has
// the digest of all records, so that these are verified without the file. Throws invalid_request if
// they are not entries of the journal, and unusable if an entry or a record was altered.
void archive_entries(db::Connection& connection, const Origin& origin, const ArchiveFile& file);

}  // namespace comptroller::store
