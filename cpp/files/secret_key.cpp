#include "files/secret_key.hpp"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
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

std::optional<std::string> read_key(const std::string& path) {
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
  std::array<char, secret_key_bytes> key{};
  if (std::cmp_not_equal(status.st_size, secret_key_bytes) ||
      std::cmp_not_equal(::read(file.number, key.data(), key.size()), secret_key_bytes)) {
    throw Error(Code::unusable, path + " is damaged: restore a backup of it");
  }
  return std::string(key.data(), key.size());
}

void synchronise_folder(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  if (opened.number < 0 || ::fsync(opened.number) != 0) fail(path, errno);
}

// Writes a complete file, then gives it its name unless another process was faster.
void create_key(const std::string& path, const std::string& store) {
  const std::string key = make_secret_key();
  std::string part = path + "-XXXXXX";
  const Descriptor file(::mkstemp(part.data()));  // only its owner may read it
  if (file.number < 0) fail(path, errno);
  int reason = 0;
  if (::write(file.number, key.data(), key.size()) != static_cast<ssize_t>(key.size()) ||
      ::fsync(file.number) != 0) {
    reason = errno == 0 ? ENOSPC : errno;
  } else {
    struct stat owner{};
    if (::geteuid() == 0 && ::stat(store.c_str(), &owner) == 0) {
      std::ignore = ::fchown(file.number, owner.st_uid, owner.st_gid);
    }
    if (::link(part.c_str(), path.c_str()) != 0 && errno != EEXIST) reason = errno;
  }
  ::unlink(part.c_str());
  if (reason != 0) fail(path, reason);
  synchronise_folder(path);
}

}  // namespace

std::string make_secret_key() {
  std::string key(secret_key_bytes, '\0');
  randombytes_buf(key.data(), key.size());
  return key;
}

std::string read_secret_key(const std::string& path, const std::string& store) {
  if (auto key = read_key(path)) return *std::move(key);
  create_key(path, store);
  if (auto key = read_key(path)) return *std::move(key);
  fail(path, ENOENT);
}

}  // namespace comptroller::files
