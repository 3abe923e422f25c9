// The VFS of buffered_files().
//
// It reads ahead in databases and WALs, in both directions, and gathers the writes to a WAL. A
// connection uses the bytes that it read ahead until it writes the file or changes a lock. Gathered
// bytes are written before the WAL is read, synchronised, truncated or closed, and before a lock
// changes. If they cannot be written, every later read, write and synchronisation of the WAL fails.
// Writes to a database are gathered only by a checkpoint of one transaction of the connection that
// made the database larger.
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "sqlite_format/sqlite_format.hpp"
#include "sqlite_format/src/wal_index.hpp"

namespace sqlite_format {

namespace {

using Offset = sqlite3_int64;

// SQLite's VFS for Unix transfers less than 128 KiB at once.
constexpr int capacity = 120 << 10;

// A part of a file: read ahead, or not yet written.
struct Buffer {
  std::array<char, capacity> bytes{};
  Offset begin = 0;
  int size = 0;
  bool is_unwritten = false;
  Offset last_read = 0;
  int failure = SQLITE_OK;  // of gathered writes
};

// What this connection knows of a WAL (https://sqlite.org/walformat.html).
struct WalContent {
  std::array<char, wal_header_size> header;
  // The end of the WAL if this connection began it with this transaction, or with one that it
  // committed; else 0.
  Offset end;
  bool is_in_transaction;
  bool is_committed;
};

// SQLite allocates this, followed by the file of the system's VFS.
struct File {
  sqlite3_file base;
  Buffer* buffer;         // of a database or WAL
  File* wal;              // of a database
  File* database;         // of a WAL
  WalContent content;     // of a WAL
  Offset gathered_until;  // the end of the writes to a database that are gathered

  static File& of(sqlite3_file* file) { return *reinterpret_cast<File*>(file); }
  sqlite3_file* system() { return reinterpret_cast<sqlite3_file*>(this + 1); }
  const sqlite3_io_methods& methods() { return *system()->pMethods; }
};
static_assert(sizeof(File) % alignof(Offset) == 0);

// Writes what was gathered, and forgets what was read. Returns the failure of gathered writes.
int settle(File* file) {
  if (file == nullptr || file->buffer == nullptr) return SQLITE_OK;
  Buffer& buffer = *file->buffer;
  const int size = std::exchange(buffer.size, 0);
  if (std::exchange(buffer.is_unwritten, false) && buffer.failure == SQLITE_OK) {
    buffer.failure =
        file->methods().xWrite(file->system(), buffer.bytes.data(), size, buffer.begin);
  }
  return buffer.failure;
}

// Fills the buffer from an offset. The buffer is empty at the end of the file, and after a failure.
void read_ahead(File& file, Offset begin) {
  Buffer& buffer = *file.buffer;
  buffer.size = 0;
  Offset end = 0;
  if (file.methods().xFileSize(file.system(), &end) != SQLITE_OK || end <= begin) return;
  const auto size = static_cast<int>(std::min<Offset>(end - begin, capacity));
  const int result = file.methods().xRead(file.system(), buffer.bytes.data(), size, begin);
  buffer.begin = begin;
  buffer.size = result == SQLITE_OK ? size : 0;
}

int read(sqlite3_file* given, void* out, int size, Offset offset) {
  File& file = File::of(given);
  if (file.buffer == nullptr || size > capacity) {
    return file.methods().xRead(file.system(), out, size, offset);
  }
  Buffer& buffer = *file.buffer;
  if (buffer.is_unwritten || buffer.failure != SQLITE_OK) {
    if (const int failure = settle(&file)) return failure;
  }
  const auto has_read = [&] {
    return buffer.begin <= offset && offset + size <= buffer.begin + buffer.size;
  };
  const Offset distance = offset - std::exchange(buffer.last_read, offset);
  const bool is_near = std::abs(distance) < capacity;  // the file is read in order
  if (!has_read() && is_near) {
    read_ahead(file, distance > 0 ? offset : std::max<Offset>(offset + size - capacity, 0));
  }
  if (!has_read()) return file.methods().xRead(file.system(), out, size, offset);
  std::memcpy(out, buffer.bytes.data() + (offset - buffer.begin), static_cast<std::size_t>(size));
  return SQLITE_OK;
}

// Notes a write to a WAL.
void note(WalContent& content, const void* bytes, std::size_t size, Offset offset) {
  const Offset end = offset + static_cast<Offset>(size);
  if (offset == 0 && size == content.header.size()) {
    std::memcpy(content.header.data(), bytes, size);
    content.end = end;
    content.is_in_transaction = true;
    content.is_committed = false;
    return;
  }
  content.end = content.is_in_transaction ? std::max(content.end, end) : 0;
  // The header of the frame that commits has the size of the database after its page number.
  if (size == frame_header_size) {
    constexpr std::array<char, 4> none{};
    content.is_committed |= std::memcmp(static_cast<const char*>(bytes) + 4, none.data(), 4) != 0;
  }
}

int write(sqlite3_file* given, const void* bytes, int size, Offset offset) {
  File& file = File::of(given);
  const bool is_wal = file.database != nullptr;
  if (is_wal) note(file.content, bytes, static_cast<std::size_t>(size), offset);
  const bool gathers = size <= capacity && (is_wal || offset + size <= file.gathered_until);
  const bool continues = gathers && file.buffer->is_unwritten &&
                         offset == file.buffer->begin + file.buffer->size &&
                         file.buffer->size + size <= capacity;
  if (!continues) {
    if (const int failure = settle(&file)) return failure;
  }
  if (!gathers) return file.methods().xWrite(file.system(), bytes, size, offset);
  Buffer& buffer = *file.buffer;
  if (!std::exchange(buffer.is_unwritten, true)) buffer.begin = offset;
  std::memcpy(buffer.bytes.data() + buffer.size, bytes, static_cast<std::size_t>(size));
  buffer.size += size;
  if (offset + size != file.gathered_until) return SQLITE_OK;
  file.gathered_until = 0;
  return settle(&file);
}

int close(sqlite3_file* given) {
  File& file = File::of(given);
  const int failure = settle(&file);
  if (file.database != nullptr) file.database->wal = nullptr;
  delete std::exchange(file.buffer, nullptr);
  const int result = file.methods().xClose(file.system());
  return failure != SQLITE_OK ? failure : result;
}

// Gives a database the size that it will have after a checkpoint, which is faster than a new size
// for each page.
void grow(File& file, Offset size) {
  Offset end = 0;
  if (file.methods().xFileSize(file.system(), &end) != SQLITE_OK || end >= size) return;
  file.methods().xTruncate(file.system(), size);  // after a failure, the pages are written as usual
}

// Whether the WAL holds one transaction, which this connection wrote.
bool is_one_transaction(File& wal) {
  WalContent& content = wal.content;
  decltype(content.header) header{};
  Offset end = 0;
  return content.end > 0 && wal.methods().xFileSize(wal.system(), &end) == SQLITE_OK &&
         end == content.end &&
         wal.methods().xRead(wal.system(), header.data(), header.size(), 0) == SQLITE_OK &&
         header == content.header;
}

// Begins the writes of a checkpoint, after which the database has a larger size than before.
//
// SQLite ignores failures after the last write of a checkpoint that a reader limits. But if the WAL
// is one transaction, a checkpoint writes all of its pages or none, in order. As the database
// grows, its last page is one of them, and the write of that page returns any failure.
void begin_checkpoint(File& file, Offset size) {
  grow(file, size);
  if (file.buffer != nullptr && is_one_transaction(*file.wal)) file.gathered_until = size;
}

int control(sqlite3_file* given, int operation, void* argument) {
  File& file = File::of(given);
  if (operation == SQLITE_FCNTL_SIZE_HINT && file.wal != nullptr) {
    begin_checkpoint(file, *static_cast<const Offset*>(argument));
  }
  if (operation == SQLITE_FCNTL_CKPT_DONE) {
    file.gathered_until = 0;
    settle(&file);
  }
  return file.methods().xFileControl(file.system(), operation, argument);
}

template <auto method, class... Arguments>
int pass(sqlite3_file* given, Arguments... arguments) {
  File& file = File::of(given);
  return (file.methods().*method)(file.system(), arguments...);
}

template <auto method, class... Arguments>
int settle_and_pass(sqlite3_file* given, Arguments... arguments) {
  if (const int failure = settle(&File::of(given))) return failure;
  return pass<method>(given, arguments...);
}

// Settles a database and its WAL before a change of a lock. Locks also change after a failure,
// which the next write or synchronisation of the WAL returns.
template <auto method, class... Arguments>
auto change_lock(sqlite3_file* given, Arguments... arguments) {
  File& file = File::of(given);
  settle(&file);
  settle(file.wal);
  return (file.methods().*method)(file.system(), arguments...);
}

int lock_shared_memory(sqlite3_file* given, int offset, int count, int flags) {
  constexpr int write_lock = 0;
  File* const wal = File::of(given).wal;
  const bool is_unlocked = offset == write_lock && (flags & SQLITE_SHM_UNLOCK) != 0;
  if (is_unlocked && wal != nullptr) {
    WalContent& content = wal->content;
    content.is_in_transaction = false;
    // Another connection may begin the WAL with the same header.
    if (!content.is_committed) content.end = 0;
  }
  return change_lock<&sqlite3_io_methods::xShmLock>(given, offset, count, flags);
}

using Methods = sqlite3_io_methods;
constexpr Methods methods{
    .iVersion = 2,  // without memory maps
    .xClose = &close,
    .xRead = &read,
    .xWrite = &write,
    .xTruncate = &settle_and_pass<&Methods::xTruncate, Offset>,
    .xSync = &settle_and_pass<&Methods::xSync, int>,
    .xFileSize = &settle_and_pass<&Methods::xFileSize, Offset*>,
    .xLock = &change_lock<&Methods::xLock, int>,
    .xUnlock = &change_lock<&Methods::xUnlock, int>,
    .xCheckReservedLock = &pass<&Methods::xCheckReservedLock, int*>,
    .xFileControl = &control,
    .xSectorSize = &pass<&Methods::xSectorSize>,
    .xDeviceCharacteristics = &pass<&Methods::xDeviceCharacteristics>,
    .xShmMap = &pass<&Methods::xShmMap, int, int, int, void volatile**>,
    .xShmLock = &lock_shared_memory,
    .xShmBarrier = &change_lock<&Methods::xShmBarrier>,
    .xShmUnmap = &change_lock<&Methods::xShmUnmap, int>,
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* given, int flags, int* out_flags) {
  auto* const system = static_cast<sqlite3_vfs*>(vfs->pAppData);
  File& file = File::of(given);
  file = File{};
  const int result = system->xOpen(system, path, file.system(), flags, out_flags);
  if (file.system()->pMethods == nullptr) return result;
  given->pMethods = &methods;
  if ((flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL)) == 0) return result;
  file.buffer = new (std::nothrow) Buffer;  // without it, the file is not buffered
  if (file.buffer == nullptr || (flags & SQLITE_OPEN_WAL) == 0) return result;
  file.database = &File::of(sqlite3_database_file_object(path));
  file.database->wal = &file;
  return result;
}

int register_vfs(const char* name) {
  sqlite3_vfs* const system = sqlite3_vfs_find(nullptr);
  if (system == nullptr) return SQLITE_ERROR;
  static sqlite3_vfs vfs = *system;
  vfs.szOsFile = static_cast<int>(sizeof(File)) + system->szOsFile;
  vfs.zName = name;
  vfs.pAppData = system;
  vfs.xOpen = &open;
  return sqlite3_vfs_register(&vfs, 0);
}

}  // namespace

const char* buffered_files() {
  static constexpr const char* name = "comptroller-buffered";
  static const int result = register_vfs(name);
  return result == SQLITE_OK ? name : nullptr;  // nullptr names the system's VFS
}

}  // namespace sqlite_format
