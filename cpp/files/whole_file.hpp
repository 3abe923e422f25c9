// Writing a file that appears under its name only when it is whole.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>

namespace comptroller::files {

// A regular file is written beside its name and takes the name on commit, durably. Until then it
// has no name where the file system allows that, else an unpredictable one; nothing is left of it
// if it is not committed, also when the process is killed while it has no name. A file that is
// replaced lends its permissions; of a link, the file that it leads to is replaced. "-" (the
// standard output), pipes and devices are written directly. Every failure is unavailable and names
// path and reason.
//
// For one thread at a time.
class WholeFile {
 public:
  static constexpr std::size_t piece = std::size_t{1} << 20U;
  // What to do when there is a file of that name, now or on commit.
  enum class Existing { replace, refuse };

  explicit WholeFile(std::string path, Existing existing = Existing::replace);
  ~WholeFile();
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  // Bytes that are still to be written; append to it.
  std::string& buffer() { return buffer_; }
  // Writes the buffer once it holds a piece, and empties it.
  void flush_if_large() {
    if (buffer_.size() >= piece) flush();
  }
  // A path by which libraries may open the unfinished file. Not for "-", pipes and devices.
  const std::string& unfinished_path();
  // Whether the path still leads to the unfinished file.
  bool is_unfinished_path_ours() const;
  // Waits until the disk has what was written so far.
  void synchronise();
  // Writes the rest and makes the file durable under its name.
  void commit();

 private:
  void open_direct(int descriptor);
  void open_unfinished(mode_t mode);
  void flush();
  void close() noexcept;
  [[noreturn]] void fail(int reason);  // of errno

  std::string path_;
  Existing existing_;
  std::optional<mode_t> permissions_;  // of the file that is replaced
  int descriptor_ = -1;
  bool is_direct_ = false;
  std::string unfinished_path_;  // empty while the unfinished file has no name
  std::string buffer_;
};

}  // namespace comptroller::files
