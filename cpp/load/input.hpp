// Where the bytes of a load come from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace comptroller::load {

// For one thread at a time.
class Input {
 public:
  virtual ~Input() = default;

  // Puts at most `capacity` bytes into `out` and gives how many; 0 at the end, and only there.
  // Throws unavailable when they cannot be read.
  virtual std::size_t read(char* out, std::size_t capacity) = 0;

  // Whether only the thread that loads may read; else one beside it does, which is faster.
  virtual bool is_for_loading_thread() const { return false; }

  // Nobody wants more: a read that waits in another thread should end soon, whatever it gives.
  virtual void abandon() noexcept {}
};

// A file, or whatever else a path can name and be read from.
class FileInput : public Input {
 public:
  // Throws invalid_request, naming the path, for what cannot be opened or is a folder; unavailable
  // where the fault is the machine's.
  explicit FileInput(std::string path);
  ~FileInput() override;
  FileInput(const FileInput&) = delete;
  FileInput& operator=(const FileInput&) = delete;

  std::size_t read(char* out, std::size_t capacity) override;

  // In bytes; nothing for a pipe or a device.
  std::optional<std::uint64_t> size() const { return size_; }

 private:
  std::string path_;
  int descriptor_ = -1;
  std::optional<std::uint64_t> size_;
};

}  // namespace comptroller::load
