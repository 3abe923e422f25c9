// The source of a load's bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace comptroller::load {

// A source of bytes. For one thread at a time.
class Input {
 public:
  virtual ~Input() = default;

  // Reads at most `capacity` bytes into `out` and returns how many; 0 only at the end. Throws
  // unavailable if reading fails.
  virtual std::size_t read(char* out, std::size_t capacity) = 0;

  // Whether the loading thread must read. Otherwise parsing threads read, which is faster.
  virtual bool is_for_loading_thread() const { return false; }

  // Whether each line is a document, whatever the first bytes are (see Documents).
  virtual bool has_only_lines() const { return false; }

  // The number of bytes, if it is known in advance.
  virtual std::optional<std::uint64_t> size() const { return std::nullopt; }

  // Whether the input can be read again; `rewind` then continues at the first byte.
  virtual bool can_rewind() const { return size().has_value(); }
  virtual void rewind() {}

  // Makes a read that waits in another thread return soon; its result is not used.
  virtual void abandon() noexcept {}
};

// A file, pipe or device.
class FileInput : public Input {
 public:
  // Throws invalid_request, which names the path, if the file cannot be opened or is a folder;
  // unavailable if the system is short of resources.
  explicit FileInput(std::string path);
  ~FileInput() override;
  FileInput(const FileInput&) = delete;
  FileInput& operator=(const FileInput&) = delete;

  std::size_t read(char* out, std::size_t capacity) override;

  // nullopt for a pipe or a device.
  std::optional<std::uint64_t> size() const override { return size_; }
  void rewind() override;

 private:
  std::string path_;
  int descriptor_ = -1;
  std::int64_t begin_ = 0;
  std::optional<std::uint64_t> size_;
};

}  // namespace comptroller::load
