// Whether a file that is read without locks has changed.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <string>
#include <thread>

namespace comptroller::files {

// Changes when a file is written or replaced.
struct FileState {
  ::dev_t device = 0;
  ::ino_t inode = 0;
  ::off_t size = 0;
  std::chrono::nanoseconds modified{};
  std::chrono::nanoseconds changed{};

  friend bool operator==(const FileState&, const FileState&) = default;

  static FileState of(const std::string& path) {
    struct stat found{};
    if (::stat(path.c_str(), &found) != 0) return {};
#ifdef __APPLE__
    const auto &modified = found.st_mtimespec, &changed = found.st_ctimespec;
#else
    const auto &modified = found.st_mtim, &changed = found.st_ctim;
#endif
    const auto time = [](const struct timespec& at) {
      return std::chrono::seconds(at.tv_sec) + std::chrono::nanoseconds(at.tv_nsec);
    };
    return {found.st_dev, found.st_ino, found.st_size, time(modified), time(changed)};
  }

  // Returns the state once a later write must change it: two writes within a tick of the system's
  // clock, up to 10 ms, leave equal times.
  static FileState settled(const std::string& path) {
    constexpr std::chrono::milliseconds tick{20};
    const FileState state = of(path);
    const auto age = std::chrono::system_clock::now().time_since_epoch() - state.changed;
    if (age < std::chrono::nanoseconds(0) || age >= tick) return state;
    std::this_thread::sleep_for(tick - age);
    return of(path);
  }
};

}  // namespace comptroller::files
