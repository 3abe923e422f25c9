#include "files/unnamed_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "model/error.hpp"

namespace comptroller::files {

int write_at(int descriptor, std::string_view bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t count =
        ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno != EINTR) return errno;
    if (count <= 0) continue;
    bytes.remove_prefix(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return 0;
}

std::int64_t read_at(int descriptor, char* out, std::size_t capacity, std::uint64_t offset) {
  std::size_t filled = 0;
  while (filled < capacity) {
    const ssize_t count =
        ::pread(descriptor, out + filled, capacity - filled, static_cast<off_t>(offset + filled));
    if (count < 0 && errno != EINTR) return -1;
    if (count == 0) break;
    if (count > 0) filled += static_cast<std::size_t>(count);
  }
  return static_cast<std::int64_t>(filled);
}

UnnamedFile::UnnamedFile(std::string folder) : folder_(std::move(folder)) {
#ifdef O_TMPFILE
  descriptor_ = ::open(folder_.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
#endif
  if (descriptor_ >= 0) return;
  std::string path = folder_ + "/comptroller-XXXXXX";
  descriptor_ = ::mkstemp(path.data());
  if (descriptor_ < 0) fail(errno);
  ::unlink(path.c_str());
  ::fcntl(descriptor_, F_SETFD, FD_CLOEXEC);
}

UnnamedFile::~UnnamedFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void UnnamedFile::append(std::string_view bytes) {
  if (const int failure = write_at(descriptor_, bytes, size_)) fail(failure);
  size_ += bytes.size();
}

std::size_t UnnamedFile::read(std::uint64_t offset, char* out, std::size_t capacity) const {
  const std::int64_t count = read_at(descriptor_, out, capacity, offset);
  if (count < 0) fail(errno);
  return static_cast<std::size_t>(count);
}

void UnnamedFile::fail(int reason) const {
  throw Error::of_system(reason, "a temporary file in " + folder_ + " cannot be used");
}

}  // namespace comptroller::files
