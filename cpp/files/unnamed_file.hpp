// A temporary file without a name, which disappears with the process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace comptroller::files {

// Returns the descriptor of a new file without a name in the folder. Throws as UnnamedFile does.
int open_unnamed(const std::string& folder);

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
  std::string folder_;
  int descriptor_;
  std::uint64_t size_ = 0;
};

}  // namespace comptroller::files
