// Replaces the functions of the C library by which files are used (see injection.hpp).
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>

#include "injection.hpp"

namespace {

using comptroller::faults::Call;
using comptroller::faults::Effect;
using comptroller::faults::strike;

// Returns the errno value of an effect other than `partial`.
int error_of(Call call, Effect effect) {
  switch (effect) {
    case Effect::no_space:
      return ENOSPC;
    case Effect::interrupted:
      return EINTR;
    case Effect::no_resource:
      return call == Call::open ? EMFILE : call == Call::lock ? ENOLCK : ENOMEM;
    default:
      return EIO;
  }
}

// Runs a call, unless a fault strikes it.
template <class... Arguments>
long run(Call call, long number, Arguments... arguments) {
  if (const auto effect = strike(call)) {
    errno = error_of(call, *effect);
    return -1;
  }
  return ::syscall(number, arguments...);
}

// Runs a call that transfers bytes.
template <class Bytes, class... Place>
ssize_t transfer(Call call, long number, int file, Bytes* bytes, std::size_t size, Place... place) {
  const auto effect = strike(call);
  if (effect && *effect != Effect::partial) {
    errno = error_of(call, *effect);
    return -1;
  }
  if (effect && size > 1) size /= 2;
  return ::syscall(number, file, bytes, size, place...);
}

int open_file(int folder, const char* path, int flags, unsigned mode) {
  return static_cast<int>(run(Call::open, SYS_openat, folder, path, flags, mode));
}

int control(int file, int command, void* argument) {
  const bool is_lock = command == F_SETLK || command == F_SETLKW;
  if (!is_lock || static_cast<struct flock*>(argument)->l_type == F_UNLCK) {
    return static_cast<int>(::syscall(SYS_fcntl, file, command, argument));
  }
  return static_cast<int>(run(Call::lock, SYS_fcntl, file, command, argument));
}

void* map(void* address, std::size_t size, int protection, int flags, int file, off_t offset) {
  constexpr long number = SYS_mmap;
  const long result = file < 0
                          ? ::syscall(number, address, size, protection, flags, file, offset)
                          : run(Call::map, number, address, size, protection, flags, file, offset);
  return reinterpret_cast<void*>(result);  // NOLINT: -1 is MAP_FAILED
}

}  // namespace

#define REPLACED __attribute__((visibility("default")))

extern "C" {

REPLACED int open(const char* path, int flags, ...) {
  std::va_list rest;
  va_start(rest, flags);
  const unsigned mode = va_arg(rest, unsigned);
  va_end(rest);
  return open_file(AT_FDCWD, path, flags, mode);
}
REPLACED int open64(const char* path, int flags, ...) {
  std::va_list rest;
  va_start(rest, flags);
  const unsigned mode = va_arg(rest, unsigned);
  va_end(rest);
  return open_file(AT_FDCWD, path, flags, mode);
}

REPLACED int stat(const char* path, struct stat* out) noexcept {
  return static_cast<int>(run(Call::status, SYS_newfstatat, AT_FDCWD, path, out, 0));
}
REPLACED int lstat(const char* path, struct stat* out) noexcept {
  return static_cast<int>(
      run(Call::status, SYS_newfstatat, AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW));
}
REPLACED int fstat(int file, struct stat* out) noexcept {
  return static_cast<int>(run(Call::status, SYS_newfstatat, file, "", out, AT_EMPTY_PATH));
}
REPLACED int stat64(const char* path, struct stat64* out) noexcept {
  return static_cast<int>(run(Call::status, SYS_newfstatat, AT_FDCWD, path, out, 0));
}
REPLACED int lstat64(const char* path, struct stat64* out) noexcept {
  return static_cast<int>(
      run(Call::status, SYS_newfstatat, AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW));
}
REPLACED int fstat64(int file, struct stat64* out) noexcept {
  return static_cast<int>(run(Call::status, SYS_newfstatat, file, "", out, AT_EMPTY_PATH));
}

REPLACED ssize_t read(int file, void* out, std::size_t size) {
  return transfer(Call::read, SYS_read, file, out, size);
}
REPLACED ssize_t pread(int file, void* out, std::size_t size, off_t offset) {
  return transfer(Call::read, SYS_pread64, file, out, size, offset);
}
REPLACED ssize_t pread64(int file, void* out, std::size_t size, off64_t offset) {
  return transfer(Call::read, SYS_pread64, file, out, size, offset);
}

REPLACED ssize_t write(int file, const void* bytes, std::size_t size) {
  return transfer(Call::write, SYS_write, file, bytes, size);
}
REPLACED ssize_t pwrite(int file, const void* bytes, std::size_t size, off_t offset) {
  return transfer(Call::write, SYS_pwrite64, file, bytes, size, offset);
}
REPLACED ssize_t pwrite64(int file, const void* bytes, std::size_t size, off64_t offset) {
  return transfer(Call::write, SYS_pwrite64, file, bytes, size, offset);
}

REPLACED int ftruncate(int file, off_t size) noexcept {
  return static_cast<int>(run(Call::truncate, SYS_ftruncate, file, size));
}
REPLACED int ftruncate64(int file, off64_t size) noexcept {
  return static_cast<int>(run(Call::truncate, SYS_ftruncate, file, size));
}

REPLACED int fsync(int file) {
  return static_cast<int>(run(Call::synchronise, SYS_fsync, file));
}
REPLACED int fdatasync(int file) {
  return static_cast<int>(run(Call::synchronise, SYS_fdatasync, file));
}

REPLACED int flock(int file, int operation) noexcept {
  if ((operation & LOCK_UN) != 0) return static_cast<int>(::syscall(SYS_flock, file, operation));
  return static_cast<int>(run(Call::lock, SYS_flock, file, operation));
}
REPLACED int fcntl(int file, int command, ...) {
  std::va_list rest;
  va_start(rest, command);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  return control(file, command, argument);
}
REPLACED int fcntl64(int file, int command, ...) {
  std::va_list rest;
  va_start(rest, command);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  return control(file, command, argument);
}

REPLACED void* mmap(void* address, std::size_t size, int protection, int flags, int file,
                    off_t offset) noexcept {
  return map(address, size, protection, flags, file, offset);
}
REPLACED void* mmap64(void* address, std::size_t size, int protection, int flags, int file,
                      off64_t offset) noexcept {
  return map(address, size, protection, flags, file, offset);
}

REPLACED int linkat(int from_folder, const char* from, int to_folder, const char* to,
                    int flags) noexcept {
  return static_cast<int>(run(Call::name, SYS_linkat, from_folder, from, to_folder, to, flags));
}
REPLACED int link(const char* from, const char* to) noexcept {
  return static_cast<int>(run(Call::name, SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0));
}
REPLACED int rename(const char* from, const char* to) noexcept {
  return static_cast<int>(run(Call::name, SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
REPLACED int renameat2(int from_folder, const char* from, int to_folder, const char* to,
                       unsigned flags) noexcept {
  return static_cast<int>(run(Call::name, SYS_renameat2, from_folder, from, to_folder, to, flags));
}

REPLACED int unlink(const char* path) noexcept {
  return static_cast<int>(run(Call::remove, SYS_unlink, path));
}

}  // extern "C"
