#include "files/unnamed_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "model/error.hpp"

namespace comptroller::files {

namespace {

[[noreturn]] void fail(const std::string& folder, int reason) {
  throw Error::of_system(reason, "a temporary file in " + folder + " cannot be used");
}

}  // namespace

int open_unnamed(const std::string& folder) {
  int descriptor = -1;
#ifdef O_TMPFILE
  descriptor = ::open(folder.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
#endif
  if (descriptor >= 0) return descriptor;
  std::string path = folder + "/comptroller-XXXXXX";
  descriptor = ::mkstemp(path.data());
  if (descriptor < 0) fail(folder, errno);
  ::unlink(path.c_str());
  ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  return descriptor;
}

UnnamedFile::UnnamedFile(std::string folder)
    : folder_(std::move(folder)), descriptor_(open_unnamed(folder_)) {}

UnnamedFile::~UnnamedFile() {
  ::close(descriptor_);
}

void UnnamedFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count =
        ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(size_));
    if (count < 0 && errno != EINTR) fail(folder_, errno);
    if (count <= 0) continue;
    bytes.remove_prefix(static_cast<std::size_t>(count));
    size_ += static_cast<std::uint64_t>(count);
  }
}

std::size_t UnnamedFile::read(std::uint64_t offset, char* out, std::size_t capacity) const {
  std::size_t filled = 0;
  while (filled < capacity) {
    const ssize_t count =
        ::pread(descriptor_, out + filled, capacity - filled, static_cast<off_t>(offset + filled));
    if (count < 0 && errno != EINTR) fail(folder_, errno);
    if (count == 0) break;
    if (count > 0) filled += static_cast<std::size_t>(count);
  }
  return filled;
}

}  // namespace comptroller::files
