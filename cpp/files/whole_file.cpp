#include "files/whole_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <random>
#include <system_error>
#include <tuple>
#include <utility>

#include "model/error.hpp"

namespace comptroller::files {

namespace {

constexpr mode_t permission_bits = 07777;
constexpr mode_t mode_of_new = 0666;  // minus the umask
constexpr mode_t mode_to_replace =
    0600;  // until the file gets the permissions of the replaced file

std::string unpredictable_name(const std::string& path) {
  std::random_device random;
  std::array<char, 17> hexadecimal{};
  std::snprintf(hexadecimal.data(), hexadecimal.size(), "%08x%08x", random(), random());
  return path + "." + hexadecimal.data() + ".part";
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// Waits until the data written to a descriptor is on disk; returns 0 or an errno value.
int synchronise_descriptor(int descriptor) {
  while (::fsync(descriptor) != 0) {
    if (errno == EINVAL || errno == ENOTSUP) return 0;  // there is nothing to make durable
    if (errno != EINTR) return errno;
  }
  return 0;
}

// Does the same for the names in a folder. A folder that the user may not read is not open.
int synchronise_folder(int descriptor) {
  if (descriptor >= 0) return synchronise_descriptor(descriptor);
  ::sync();
  return 0;
}

// Opens a new file without a name in the folder of `path`. Returns -1 if the system does not
// support this, or cannot give the file a name later.
int open_nameless([[maybe_unused]] const std::string& path, [[maybe_unused]] mode_t mode) {
#ifdef O_TMPFILE
  if (::access("/proc/self/fd", X_OK) != 0) return -1;
  return ::open(folder_of(path).c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, mode);
#else
  return -1;
#endif
}

// Gives a file a second name; returns 0 or an errno value.
int link_file(const std::string& path, const std::string& second_name) {
  return ::link(path.c_str(), second_name.c_str()) == 0 ? 0 : errno;
}

// Renames a file, and replaces an existing one only if `may_replace`; returns 0 or an errno value.
int rename_file(const std::string& from, const std::string& to, bool may_replace) {
  if (may_replace) return std::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
#ifdef RENAME_NOREPLACE
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
#endif
  if (::link(from.c_str(), to.c_str()) != 0) return errno;
  ::unlink(from.c_str());
  return 0;
}

}  // namespace

bool leads_to(const std::string& path, int descriptor) {
  struct stat opened{};
  struct stat named{};
  return ::fstat(descriptor, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

WholeFile::WholeFile(std::string path, Existing existing, std::function<void()> check_interrupt)
    : path_(std::move(path)), existing_(existing), check_interrupt_(std::move(check_interrupt)) {
  if (existing_ == Existing::refuse && (path_.empty() || path_ == "-")) {
    throw Error::invalid("destination", "must name a file");
  }
  if (path_ == "-") {
    open_direct(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
    return;
  }
  struct stat present{};
  if (existing_ == Existing::refuse && ::lstat(path_.c_str(), &present) == 0) fail(EEXIST);
  if (::stat(path_.c_str(), &present) == 0) {
    if (S_ISDIR(present.st_mode)) fail(EISDIR);
    if (!S_ISREG(present.st_mode)) {
      int descriptor = -1;
      while ((descriptor = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC)) < 0 && errno == EINTR) {
        continue_after_signal();
      }
      open_direct(descriptor);
      return;
    }
    std::error_code failure;
    const auto target = std::filesystem::canonical(path_, failure);
    if (failure) fail(failure.value());
    path_ = target.string();
    replaced_ = {present.st_mode & permission_bits, present.st_uid, present.st_gid};
  } else if (errno != ENOENT) {
    fail(errno);
  }
  open_unfinished(replaced_ ? mode_to_replace : mode_of_new);
}

void WholeFile::open_direct(int descriptor) {
  if (descriptor < 0) fail(errno);
  is_direct_ = true;
  descriptor_ = descriptor;
}

void WholeFile::open_unfinished(mode_t mode) {
  if (path_.empty() || path_.ends_with('/')) fail(ENOENT);
  descriptor_ = open_nameless(path_, mode);
  if (descriptor_ >= 0) return;
  std::string name = unpredictable_name(path_);
  constexpr int how = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  descriptor_ = ::open(name.c_str(), how, mode);
  if (descriptor_ < 0) fail(errno);
  unfinished_path_ = std::move(name);
}

const std::string& WholeFile::unfinished_path() {
  if (!unfinished_path_.empty()) return unfinished_path_;
  std::string name = unpredictable_name(path_);
  const std::string nameless = "/proc/self/fd/" + std::to_string(descriptor_);
  if (::linkat(AT_FDCWD, nameless.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0) {
    fail(errno);
  }
  return unfinished_path_ = std::move(name);
}

WholeFile::~WholeFile() {
  close();
}

void WholeFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) fail(errno);
    bytes.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    written_ += std::max<ssize_t>(count, 0);
    if (!bytes.empty()) continue_after_signal();  // it also ends a write that has begun
  }
  begin_transfer();
}

void WholeFile::continue_after_signal() {
  if (check_interrupt_) check_interrupt_();
}

// The file system may make the commit of a store wait for all that this file has not transferred.
void WholeFile::begin_transfer() noexcept {
#ifdef __linux__
  constexpr off_t least = off_t{1} << 20;
  if (is_direct_ || written_ - transferred_ < least) return;
  // Only a hint; a failed transfer is reported when the file is synchronised.
  std::ignore =
      ::sync_file_range(descriptor_, transferred_, written_ - transferred_, SYNC_FILE_RANGE_WRITE);
  transferred_ = written_;
#endif
}

void WholeFile::synchronise() {
  if (const int failure = synchronise_descriptor(descriptor_)) fail(failure);
}

void WholeFile::commit() {
  if (is_direct_) {
    // Some file systems report a failed write only now.
    if (::close(std::exchange(descriptor_, -1)) != 0) fail(errno);
    return;
  }
  if (replaced_) {
    // Only root may give a file away. First, because it removes permissions.
    std::ignore = ::fchown(descriptor_, replaced_->user, replaced_->group);
    if (::fchmod(descriptor_, replaced_->permissions) != 0) fail(errno);
  }
  synchronise();
  if (const int failure = take_name()) fail(failure);
  unfinished_path_.clear();
  close();
}

// Gives the file its name, durably; returns 0 or an errno value. After a failure the name leads to
// what it led to before, unless the file system has no hard links: then a replaced file is lost.
int WholeFile::take_name() {
  const std::string& name = unfinished_path();
  const std::string second_name = unpredictable_name(path_);  // of an existing file, until the end
  // Opens the folder first, so that a failure is known before the file has its name.
  const int folder = ::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0 && errno != EACCES) return errno;
  const bool may_replace = existing_ == Existing::replace;
  const int link_failure = may_replace ? link_file(path_, second_name) : ENOENT;
  int failure = Error::code_of_system(link_failure) == Code::unavailable ? link_failure : 0;
  if (failure == 0) failure = rename_file(name, path_, may_replace);
  if (failure == 0) {
    failure = synchronise_folder(folder);
    const bool must_undo = failure != 0 && leads_to(path_, descriptor_);
    if (must_undo && link_failure == 0) std::ignore = rename_file(second_name, path_, true);
    if (must_undo && link_failure == ENOENT) std::ignore = rename_file(path_, name, true);
  }
  if (link_failure == 0) ::unlink(second_name.c_str());
  if (folder >= 0) ::close(folder);
  return failure;
}

void WholeFile::close() noexcept {
  if (!unfinished_path_.empty()) ::unlink(unfinished_path_.c_str());
  unfinished_path_.clear();
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

void WholeFile::fail(int reason) {
  const bool is_written = !is_direct_ && leads_to(path_, descriptor_);
  close();
  if (reason == EEXIST && existing_ == Existing::refuse) {
    throw Error(Code::unusable, path_ + " exists already; choose another name");
  }
  const std::string name = path_ == "-" ? "the standard output" : path_;
  throw Error::of_system(reason, is_written
                                     ? name + " was replaced, but its folder cannot be synchronised"
                                     : name + " cannot be written");
}

}  // namespace comptroller::files
