// A VFS of SQLite (https://sqlite.org/vfs.html) for passing through a whole database. It transfers
// many pages at once instead of one.
#pragma once

namespace comptroller::db::sqlite {

// Returns the name of the VFS, for sqlite3_open_v2.
//
// It reads ahead in databases and logs, in both directions, and gathers the writes to a log. Bytes
// that were read ahead are used only until the file is written or a lock changes. Gathered bytes
// are written before the log is read, synchronised, truncated or closed, before a lock changes, and
// before the index of the log shows a commit. If they cannot be written, every later write and
// synchronisation of the log fails, so no transaction commits. Writes to a database are not
// gathered, because SQLite ignores failures at the end of a checkpoint; a database that grows is
// first filled with zeros, which makes the writes of its new pages faster.
const char* buffered_files();

}  // namespace comptroller::db::sqlite
