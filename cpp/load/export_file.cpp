#include "load/export_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "model/error.hpp"

namespace comptroller::load {

namespace {

constexpr mode_t permissions = 07777;

// Whether both are there and the same file.
bool is_same(int descriptor, const std::string& path) {
  struct stat opened{};
  struct stat named{};
  return ::fstat(descriptor, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

int synchronise(int descriptor) {
  while (::fsync(descriptor) != 0) {
    if (errno == EINVAL || errno == ENOTSUP) return 0;  // it has nothing to make durable
    if (errno != EINTR) return errno;
  }
  return 0;
}

int synchronise_folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const int descriptor =
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return errno;
  const int failure = synchronise(descriptor);
  ::close(descriptor);
  return failure;
}

}  // namespace

ExportFile::ExportFile(std::string path) : path_(std::move(path)) {
  buffer_.reserve(piece + piece / 4);
  if (path_ == "-") {
    descriptor_ = ::dup(STDOUT_FILENO);
    if (descriptor_ < 0) fail(errno);
    return;
  }
  struct stat present{};
  const bool is_present = ::stat(path_.c_str(), &present) == 0;
  if (is_present && S_ISDIR(present.st_mode)) fail(EISDIR);
  if (is_present && !S_ISREG(present.st_mode)) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail(errno);
    return;
  }
  if (is_present) {
    // Not the link is to be replaced but what it leads to.
    std::error_code failure;
    const auto target = std::filesystem::canonical(path_, failure);
    if (failure) fail(failure.value());
    path_ = target.string();
  }
  open_beside();
  if (is_present) ::fchmod(descriptor_, present.st_mode & permissions);
}

void ExportFile::open_beside() {
  if (path_.empty() || path_.ends_with('/')) fail(ENOENT);
  const std::string part = part_of(path_);
  descriptor_ = ::open(part.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor_ < 0) fail(errno);
  // Two exports to one name must not write one file; what a dead one left is taken over.
  const bool is_held = ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (is_held || !is_same(descriptor_, part)) fail("another export is writing it");
  part_ = part;
  if (::ftruncate(descriptor_, 0) != 0) fail(errno);
}

ExportFile::~ExportFile() {
  close();
}

void ExportFile::flush() {
  std::size_t written = 0;
  while (written < buffer_.size()) {
    const ssize_t count =
        ::write(descriptor_, buffer_.data() + written, std::min(piece, buffer_.size() - written));
    if (count >= 0) {
      written += static_cast<std::size_t>(count);
    } else if (errno != EINTR) {
      fail(errno);
    }
  }
  buffer_.clear();
}

void ExportFile::commit() {
  flush();
  if (part_.empty()) return close();
  if (const int failure = synchronise(descriptor_)) fail(failure);
  if (std::rename(part_.c_str(), path_.c_str()) != 0) fail(errno);
  part_.clear();
  close();
  if (const int failure = synchronise_folder_of(path_)) fail(failure);
}

void ExportFile::close() {
  // Removed while it is still locked: nobody else's file can have the name yet.
  if (!part_.empty()) ::unlink(part_.c_str());
  part_.clear();
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

void ExportFile::fail(int reason) {
  fail(std::generic_category().message(reason));
}

void ExportFile::fail(const std::string& reason) {
  close();
  const std::string name = path_ == "-" ? "the standard output" : path_;
  throw Error(Code::unavailable, name + " cannot be written: " + reason);
}

}  // namespace comptroller::load
