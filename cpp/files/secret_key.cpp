#include "files/secret_key.hpp"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <tuple>
#include <utility>

#include "model/error.hpp"

namespace comptroller::files {

namespace {

[[noreturn]] void fail(const std::string& path, int reason) {
  throw Error::of_system(reason, path + " cannot be used");
}

// Closes a descriptor at the end of the scope.
struct Descriptor {
  explicit Descriptor(int opened) : number(opened) {}
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number;
};

// Gives a file a second name, durably; returns 0 or an errno value. After a failure it has none.
int link_durably(const std::string& from, const std::string& to, int folder) {
  if (::link(from.c_str(), to.c_str()) != 0) return errno;
  if (::fsync(folder) == 0) return 0;
  const int reason = errno;
  ::unlink(to.c_str());
  return reason;
}

// Writes a complete file, then gives it its name. Returns the key, or nullopt if another process
// was faster.
std::optional<std::string> create_key(const std::string& path, const std::string& store) {
  std::string key = make_secret_key();
  std::string part = path + "-XXXXXX";
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  if (opened.number < 0) fail(path, errno);
  const Descriptor file(::mkstemp(part.data()));  // only its owner may read it
  if (file.number < 0) fail(path, errno);
  const ssize_t written = ::write(file.number, key.data(), key.size());
  int reason = written < 0 ? errno : std::cmp_equal(written, key.size()) ? 0 : ENOSPC;
  if (reason == 0 && ::fsync(file.number) != 0) reason = errno;
  if (reason == 0) {
    struct stat owner{};
    if (::geteuid() == 0 && ::stat(store.c_str(), &owner) == 0) {
      std::ignore = ::fchown(file.number, owner.st_uid, owner.st_gid);
    }
    reason = link_durably(part, path, opened.number);
  }
  ::unlink(part.c_str());
  if (reason == EEXIST) return std::nullopt;
  if (reason != 0) fail(path, reason);
  return key;
}

}  // namespace

std::string make_secret_key() {
  std::string key(secret_key_bytes, '\0');
  randombytes_buf(key.data(), key.size());
  return key;
}

std::optional<std::string> find_secret_key(const std::string& path) {
  // O_NONBLOCK, because opening a pipe would block.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.number < 0) {
    if (errno == ENOENT) return std::nullopt;
    fail(path, errno);
  }
  struct stat status{};
  if (::fstat(file.number, &status) != 0) fail(path, errno);
  if (!S_ISREG(status.st_mode)) {
    throw Error(Code::unusable, path + " is not a file; move it away");
  }
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    throw Error(Code::unusable, path +
                                    " holds a secret, but other users may read or change it; run "
                                    "`chmod 600 " +
                                    path + "`, and rotate the secrets they may have read");
  }
  std::string key(secret_key_bytes, '\0');
  std::size_t filled = 0;
  for (ssize_t count = 1; count != 0 && filled < key.size();) {
    count = ::read(file.number, key.data() + filled, key.size() - filled);
    if (count < 0 && errno != EINTR) fail(path, errno);
    filled += static_cast<std::size_t>(std::max<ssize_t>(count, 0));
  }
  if (filled < key.size() || std::cmp_not_equal(status.st_size, key.size())) {
    throw Error(Code::unusable, path + " is damaged: restore a backup of it");
  }
  return key;
}

std::string read_secret_key(const std::string& path, const std::string& store) {
  if (auto key = find_secret_key(path)) return *std::move(key);
  if (auto key = create_key(path, store)) return *std::move(key);
  if (auto key = find_secret_key(path)) return *std::move(key);
  fail(path, ENOENT);
}

}  // namespace comptroller::files
