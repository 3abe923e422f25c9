// Records every change that a process makes to the files of one folder, for the tests of power
// loss.
//
// It is preloaded (LD_PRELOAD) and replaces functions of libc, below SQLite and below the package.
// POWER_ROOT names the folder, POWER_RECORD the file of the record. An event is a header and the
// bytes of its payload (Header); tests/python/support/power_record.py reads them. A lock is held
// from before each system call until its event is recorded, so their orders are equal.
//
// With POWER_SPOIL, the first write of several pages to a file whose name ends in it is damaged.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace {

// The kinds of events. `file` numbers the files that ever existed.
enum class Kind : char {
  created = 'c',    // the payload is the name; empty if the file has none
  opened = 'o',     // a file that existed before the recording; the payload is the name
  written = 'w',    // the payload at `offset`
  truncated = 't',  // or extended, to `offset` bytes
  synced = 's',
  linked = 'l',    // the payload is a further name
  renamed = 'r',   // the payload is the old and the new name, separated by a zero byte
  unlinked = 'u',  // the payload is the name
  folder_synced = 'd',
  mark = 'm',  // of the program: the payload is its text
};

struct __attribute__((packed)) Header {
  Kind kind;
  std::uint32_t file;
  std::uint64_t offset;
  std::uint64_t size;  // of the payload
};

constexpr std::size_t page_size = 4096;
constexpr std::size_t sector_size = 512;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

template <class... Arguments>
long call(long number, Arguments... arguments) {
  return ::syscall(number, arguments...);
}

int open_file(const char* path, int flags, mode_t mode) {
  return static_cast<int>(call(SYS_openat, AT_FDCWD, path, flags, mode));
}

class Recorder {
 public:
  using Guard = std::unique_lock<std::mutex>;

  Recorder() : root_(variable("POWER_ROOT")), spoiled_(variable("POWER_SPOIL")) {
    if (root_.empty()) return;
    constexpr mode_t mode = 0600;
    const std::string path = variable("POWER_RECORD");
    record_ = open_file(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, mode);
  }

  Guard lock() { return Guard(mutex_); }
  bool is_on() const { return record_ >= 0; }

  // Returns the name of a path in the folder.
  std::optional<std::string> name_of(std::string_view path) const {
    if (!is_on() || !path.starts_with(root_ + "/")) return std::nullopt;
    return std::string(path.substr(root_.size() + 1));
  }

  // Returns the number of a file; nullopt if it is not in the folder.
  std::optional<std::uint32_t> find(int descriptor) const {
    struct stat found{};
    if (!is_on() || ::fstat(descriptor, &found) != 0) return std::nullopt;
    const auto file = files_.find({found.st_dev, found.st_ino});
    return file == files_.end() ? std::nullopt : std::optional(file->second);
  }

  void note_opened(int descriptor, bool is_new) {
    struct stat found{};
    const std::string path = path_of(descriptor);
    const auto name = name_of(path);
    if (!name || ::fstat(descriptor, &found) != 0 || !S_ISREG(found.st_mode)) return;
    std::uint32_t& file = files_[{found.st_dev, found.st_ino}];
    if (!is_new && file != 0) return;
    file = ++last_file_;
    names_[file] = *name;
    emit(is_new ? Kind::created : Kind::opened, file, 0, found.st_nlink == 0 ? "" : *name);
  }

  void note_folder_synced(int descriptor) {
    if (path_of(descriptor) == root_) emit(Kind::folder_synced, 0, 0, {});
  }

  void note_linked(std::string_view to) {
    const auto name = name_of(to);
    struct stat found{};
    if (!name || ::stat(std::string(to).c_str(), &found) != 0) return;
    emit(Kind::linked, files_[{found.st_dev, found.st_ino}], 0, *name);
  }

  void note_renamed(std::string_view from, std::string_view to) {
    const auto before = name_of(from);
    const auto after = name_of(to);
    if (before && after) emit(Kind::renamed, 0, 0, *before + '\0' + *after);
  }

  void note_unlinked(std::string_view path) {
    if (const auto name = name_of(path)) emit(Kind::unlinked, 0, 0, *name);
  }

  // Whether this write to a file must be damaged: the first one that is large enough.
  bool spoils(std::uint32_t file, std::size_t size) {
    if (spoiled_.empty() || size <= page_size || !names_[file].ends_with(spoiled_)) return false;
    spoiled_.clear();
    return true;
  }

  void emit(Kind kind, std::uint32_t file, std::uint64_t offset, std::string_view payload) const {
    const int before = errno;
    Header header{kind, file, offset, payload.size()};
    const std::array<iovec, 2> parts{iovec{&header, sizeof header},
                                     iovec{const_cast<char*>(payload.data()), payload.size()}};
    const auto expected = static_cast<long>(sizeof header + payload.size());
    if (is_on() && call(SYS_writev, record_, parts.data(), parts.size()) != expected) std::abort();
    errno = before;
  }

 private:
  static std::string path_of(int descriptor) {
    std::array<char, PATH_MAX> path{};
    const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
    const ssize_t size = ::readlink(link.c_str(), path.data(), path.size());
    return {path.data(), static_cast<std::size_t>(size < 0 ? 0 : size)};
  }

  std::string root_;
  std::string spoiled_;
  int record_ = -1;
  std::mutex mutex_;
  std::map<std::pair<dev_t, ino_t>, std::uint32_t> files_;
  std::map<std::uint32_t, std::string> names_;
  std::uint32_t last_file_ = 0;
};

Recorder& recorder() {
  static auto* const only = new Recorder;  // never destroyed, because other libraries use it
  return *only;
}

int open_recorded(const char* path, int flags, mode_t mode) {
  Recorder& to = recorder();
  const Recorder::Guard guard = to.lock();
  const bool is_unnamed = (flags & O_TMPFILE) == O_TMPFILE;
  const bool is_missing = (flags & O_CREAT) != 0 && call(SYS_access, path, F_OK) != 0;
  const int descriptor = open_file(path, flags, mode);
  if (descriptor < 0 || !to.is_on()) return descriptor;
  to.note_opened(descriptor, is_unnamed || is_missing);
  const auto file = to.find(descriptor);
  if (file && !is_unnamed && (flags & O_TRUNC) != 0) to.emit(Kind::truncated, *file, 0, {});
  return descriptor;
}

ssize_t write_recorded(int descriptor, const void* bytes, std::size_t size,
                       std::optional<off_t> offset) {
  Recorder& to = recorder();
  Recorder::Guard guard = to.lock();
  const auto file = to.find(descriptor);
  if (!file) guard.unlock();  // it may be a pipe that blocks
  const auto number = static_cast<std::size_t>(descriptor);
  const auto write = [&](const void* data) {
    return offset ? call(SYS_pwrite64, number, data, size, *offset)
                  : call(SYS_write, number, data, size);
  };
  if (!file) return write(bytes);
  std::string_view written(static_cast<const char*>(bytes), size);
  std::string damaged;
  if (to.spoils(*file, size)) {
    damaged = std::string(sector_size, '\xFF') + std::string(written.substr(sector_size));
    written = damaged;
  }
  const ssize_t count = write(written.data());
  if (count <= 0) return count;
  const off_t begin = offset ? *offset : ::lseek(descriptor, 0, SEEK_CUR) - count;
  to.emit(Kind::written, *file, static_cast<std::uint64_t>(begin),
          written.substr(0, static_cast<std::size_t>(count)));
  return count;
}

int truncate_recorded(int descriptor, off_t size) {
  Recorder& to = recorder();
  const Recorder::Guard guard = to.lock();
  const auto result = static_cast<int>(call(SYS_ftruncate, descriptor, size));
  const auto file = to.find(descriptor);
  if (result == 0 && file) {
    to.emit(Kind::truncated, *file, static_cast<std::uint64_t>(size), {});
  }
  return result;
}

int sync_recorded(long number, int descriptor) {
  Recorder& to = recorder();
  const Recorder::Guard guard = to.lock();
  const auto result = static_cast<int>(call(number, descriptor));
  if (result != 0 || !to.is_on()) return result;
  if (const auto file = to.find(descriptor)) {
    to.emit(Kind::synced, *file, 0, {});
  } else {
    to.note_folder_synced(descriptor);
  }
  return result;
}

int rename_recorded(const char* from, const char* to, unsigned flags) {
  const Recorder::Guard guard = recorder().lock();
  const auto result = static_cast<int>(call(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, flags));
  if (result == 0) recorder().note_renamed(from, to);
  return result;
}

int link_recorded(const char* from, const char* to, int flags) {
  const Recorder::Guard guard = recorder().lock();
  const auto result = static_cast<int>(call(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, flags));
  if (result == 0) recorder().note_linked(to);
  return result;
}

mode_t mode_of(int flags, va_list arguments) {
  const bool has_mode = (flags & (O_CREAT | O_TMPFILE)) != 0;
  return has_mode ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

// The functions of libc, under both of their names. Their relative folders are not supported:
// nothing that changes files uses one.
extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_recorded(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_recorded(path, flags, mode);
}
int __open_2(const char* path, int flags) {
  return open_recorded(path, flags, 0);
}
int __open64_2(const char* path, int flags) {
  return open_recorded(path, flags, 0);
}

int mkstemp(char* path) {
  const auto real = reinterpret_cast<int (*)(char*)>(::dlsym(RTLD_NEXT, "mkstemp"));
  const Recorder::Guard guard = recorder().lock();
  const int descriptor = real(path);
  if (descriptor >= 0) recorder().note_opened(descriptor, true);
  return descriptor;
}

ssize_t write(int descriptor, const void* bytes, std::size_t size) {
  return write_recorded(descriptor, bytes, size, std::nullopt);
}
ssize_t pwrite(int descriptor, const void* bytes, std::size_t size, off_t offset) {
  return write_recorded(descriptor, bytes, size, offset);
}
ssize_t pwrite64(int descriptor, const void* bytes, std::size_t size, off_t offset) {
  return write_recorded(descriptor, bytes, size, offset);
}

int ftruncate(int descriptor, off_t size) noexcept {
  return truncate_recorded(descriptor, size);
}
int ftruncate64(int descriptor, off_t size) noexcept {
  return truncate_recorded(descriptor, size);
}

int fsync(int descriptor) {
  return sync_recorded(SYS_fsync, descriptor);
}
int fdatasync(int descriptor) {
  return sync_recorded(SYS_fdatasync, descriptor);
}

int rename(const char* from, const char* to) noexcept {
  return rename_recorded(from, to, 0);
}
int renameat2(int, const char* from, int, const char* to, unsigned flags) noexcept {
  return rename_recorded(from, to, flags);
}
int link(const char* from, const char* to) noexcept {
  return link_recorded(from, to, 0);
}
int linkat(int, const char* from, int, const char* to, int flags) noexcept {
  return link_recorded(from, to, flags);
}
int unlink(const char* path) noexcept {
  const Recorder::Guard guard = recorder().lock();
  const auto result = static_cast<int>(call(SYS_unlink, path));
  if (result == 0) recorder().note_unlinked(path);
  return result;
}

// Called by the recorded program.
void power_mark(const char* text) {
  const Recorder::Guard guard = recorder().lock();
  recorder().emit(Kind::mark, 0, 0, text);
}
}
