#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "files/unnamed_file.hpp"
#include "journal/hash.hpp"
#include "load/input.hpp"

namespace comptroller::load {

// An input that can be read again. A stream is kept while it is read: its first 8 MiB in memory,
// more in an unnamed file. Threads may read in turn.
class RewindableInput : public Input {
 public:
  // Unnamed files are created in `folder`. Nothing is kept unless `may_rewind`.
  RewindableInput(Input& input, std::string folder, bool may_rewind)
      : input_(input), folder_(std::move(folder)), keeps_(may_rewind && !input.size()) {}

  std::size_t read(char* out, std::size_t capacity) override;
  bool is_for_loading_thread() const override {
    return !is_rewound_ && input_.is_for_loading_thread();
  }
  std::optional<std::uint64_t> size() const override {
    return is_at_end_ ? bytes_read() : input_.size();
  }
  // A stream must have been read to its end.
  void rewind() override;
  void abandon() noexcept override {
    if (!is_rewound_) input_.abandon();
  }

  // Whether the input itself cannot be read again.
  bool is_stream() const { return !input_.size(); }
  // Whether it is read again.
  bool is_rewound() const { return is_rewound_; }
  // The SHA-256 of the bytes from the first to the last read, as hexadecimal digits. Call it once,
  // at the end.
  std::string sha256();
  // The bytes that were read so far, without those that were read again. Safe for any thread.
  std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  void keep(std::string_view bytes);

  Input& input_;
  journal::Sha256 hash_;
  std::string folder_;
  bool keeps_;
  std::atomic<std::uint64_t> bytes_read_ = 0;
  std::atomic<bool> is_at_end_ = false;
  bool is_rewound_ = false;
  std::string first_;  // of the kept bytes; empty if they are in the file
  std::optional<files::UnnamedFile> file_;
  std::uint64_t at_ = 0;  // the next kept byte to read
};

}  // namespace comptroller::load
