// A VFS of SQLite (https://sqlite.org/vfs.html) for passing through a whole database. It reads and
// writes many pages at once.
#pragma once

namespace comptroller::db::sqlite {

// Returns the name of the VFS, for sqlite3_open_v2.
//
// It reads ahead in databases and logs, in both directions, and gathers the writes to a log. A
// connection uses the bytes that it read ahead until it writes the file or changes a lock; a
// connection without locks must read the file only after its last change. Gathered bytes are
// written before the log is read, synchronised, truncated or closed, and before a lock changes. If
// they cannot be written, every later read, write and synchronisation of the log fails. So a
// transaction that synchronises the log (synchronous = FULL) does not commit without all its pages.
// Writes to a database are gathered only by a checkpoint of one transaction of the connection that
// made the database larger.
const char* buffered_files();

}  // namespace comptroller::db::sqlite
