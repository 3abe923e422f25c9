// A temporary file that has no name, so that nothing is left of it when the process ends.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace comptroller::files {

// Where SQLite and we work on data that does not fit into memory. Every failure is unavailable and
// says that a temporary file in the folder could not be used. For one thread at a time.
class UnnamedFile {
 public:
  explicit UnnamedFile(std::string folder);
  ~UnnamedFile();
  UnnamedFile(const UnnamedFile&) = delete;
  UnnamedFile& operator=(const UnnamedFile&) = delete;

  std::uint64_t size() const { return size_; }
  void append(std::string_view bytes);
  // Fills `out` from `offset` on, up to the end; returns how many bytes.
  std::size_t read(std::uint64_t offset, char* out, std::size_t capacity) const;

 private:
  [[noreturn]] void fail(int reason) const;

  std::string folder_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

// Writes all bytes at an offset; returns 0 or errno.
int write_at(int descriptor, std::string_view bytes, std::uint64_t offset);
// Reads up to the capacity or the end of the file; returns how many bytes, or -1 with errno set.
std::int64_t read_at(int descriptor, char* out, std::size_t capacity, std::uint64_t offset);

}  // namespace comptroller::files
