// A temporary file without a name, which disappears with the process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace comptroller::files {

// Holds data that does not fit into memory, in the folder that SQLite uses for such data. Every
// failure is unavailable or unusable, and says that a temporary file in the folder cannot be used.
// For one thread at a time.
class UnnamedFile {
 public:
  explicit UnnamedFile(std::string folder);
  ~UnnamedFile();
  UnnamedFile(const UnnamedFile&) = delete;
  UnnamedFile& operator=(const UnnamedFile&) = delete;

  std::uint64_t size() const { return size_; }
  void append(std::string_view bytes);
  // Reads from `offset` into `out`, up to its capacity or the end of the file; returns the number
  // of bytes.
  std::size_t read(std::uint64_t offset, char* out, std::size_t capacity) const;

 private:
  [[noreturn]] void fail(int reason) const;

  std::string folder_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

// Writes all bytes at an offset; returns 0 or errno.
int write_at(int descriptor, std::string_view bytes, std::uint64_t offset);
// Reads up to the capacity or the end of the file; returns the number of bytes, or -1 with errno
// set.
std::int64_t read_at(int descriptor, char* out, std::size_t capacity, std::uint64_t offset);

}  // namespace comptroller::files
