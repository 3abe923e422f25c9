// Writes a file that appears under its name only when it is complete.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace comptroller::files {

// Whether a path leads to the file of a descriptor, without following links.
bool leads_to(const std::string& path, int descriptor);

// A regular file is written beside its final path and gets its name on commit, durably. Until then
// it has no name if the file system supports that, else an unpredictable name. Without a commit
// nothing is left of it; only a killed process can leave a file with an unpredictable name. A
// replaced file passes its permissions and, if this process may, its owner on. If the path is a
// link, the file that the link refers to is replaced. "-" (the standard output), pipes and devices
// are written directly, if an existing file may be replaced. Every failure is unavailable or
// unusable and names the path and the reason.
//
// For one thread at a time.
class WholeFile {
 public:
  // What to do if a file of that name exists, now or on commit.
  enum class Existing { replace, refuse };

  // A signal that interrupts a wait for the reader of a pipe calls `check_interrupt`, which may
  // throw.
  explicit WholeFile(std::string path, Existing existing = Existing::replace,
                     std::function<void()> check_interrupt = {});
  ~WholeFile();
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  void write(std::string_view bytes);
  // Returns a path by which libraries may open the unfinished file. Not for "-", pipes and devices.
  const std::string& unfinished_path();
  // Whether the path still leads to the unfinished file.
  bool is_unfinished_path_ours() const { return leads_to(unfinished_path_, descriptor_); }
  // Waits until the data written so far is on disk.
  void synchronise();
  // Makes the file durable under its name. If that fails, an existing file keeps the name.
  void commit();

 private:
  struct Access {
    mode_t permissions;
    uid_t user;
    gid_t group;
  };

  void open_direct(int descriptor);
  void continue_after_signal();
  void open_unfinished(mode_t mode);
  int take_name();
  void begin_transfer() noexcept;
  void close() noexcept;
  [[noreturn]] void fail(int reason);  // an errno value

  std::string path_;
  Existing existing_;
  std::function<void()> check_interrupt_;
  std::optional<Access> replaced_;  // of the replaced file
  int descriptor_ = -1;
  bool is_direct_ = false;
  off_t written_ = 0;
  off_t transferred_ = 0;        // to the disk, or about to be
  std::string unfinished_path_;  // empty while the unfinished file has no name
};

}  // namespace comptroller::files
