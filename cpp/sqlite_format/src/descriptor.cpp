#include "sqlite_format/src/descriptor.hpp"

#include <cerrno>
#include <system_error>

namespace sqlite_format {

void write_at(int descriptor, std::string_view bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t count =
        ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category());
    if (count <= 0) continue;
    bytes.remove_prefix(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
}

void read_at(int descriptor, char* out, std::size_t size, std::uint64_t offset) {
  for (std::size_t filled = 0; filled < size;) {
    const ssize_t count =
        ::pread(descriptor, out + filled, size - filled, static_cast<off_t>(offset + filled));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw std::system_error(count < 0 ? errno : EIO, std::generic_category());
    filled += static_cast<std::size_t>(count);
  }
}

}  // namespace sqlite_format
