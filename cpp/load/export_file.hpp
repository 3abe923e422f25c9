// Where the bytes of an export go: a file that appears under its name only when it is whole.
#pragma once

#include <cstddef>
#include <string>

namespace comptroller::load {

// A regular file is written beside its name, with ".part" behind it, and takes the name on commit;
// what stood there before stays until then and lends its permissions. "-" (the standard output),
// pipes and devices are written directly. Every failure is unavailable and names path and reason.
//
// For one thread at a time.
class ExportFile {
 public:
  static constexpr std::size_t piece = std::size_t{1} << 20U;

  // Where a file is written until it is whole.
  static std::string part_of(const std::string& path) { return path + ".part"; }

  explicit ExportFile(std::string path);
  // Removes what was not committed.
  ~ExportFile();
  ExportFile(const ExportFile&) = delete;
  ExportFile& operator=(const ExportFile&) = delete;

  // What is still to be written; append to it.
  std::string& buffer() { return buffer_; }
  // Writes the buffer once it holds a piece, and empties it.
  void flush_if_large() {
    if (buffer_.size() >= piece) flush();
  }
  // Writes the rest and makes the file durable under its name.
  void commit();

 private:
  void open_beside();
  void flush();
  void close();
  [[noreturn]] void fail(int reason);  // of errno
  [[noreturn]] void fail(const std::string& reason);

  std::string path_;
  std::string part_;  // the unfinished file; empty when there is none
  int descriptor_ = -1;
  std::string buffer_;
};

}  // namespace comptroller::load
