#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "files/unnamed_file.hpp"
#include "journal/hash.hpp"
#include "load/input.hpp"

namespace comptroller::load {

// An input that can be read again. A stream is kept while it is read: its first 8 MiB in memory,
// more in an unnamed file. Threads may read in turn; another one may call stop_keeping.
class RewindableInput : public Input {
 public:
  struct Uses {
    bool may_rewind = true;  // otherwise nothing is kept
    bool has_digest = true;  // otherwise sha256() is not called
    bool has_only_lines = false;
  };
  // Unnamed files are created in `folder`.
  RewindableInput(Input& input, std::string folder, Uses uses)
      : input_(input),
        folder_(std::move(folder)),
        keeps_(uses.may_rewind && !input.size()),
        has_digest_(uses.has_digest),
        has_only_lines_(uses.has_only_lines) {}

  std::size_t read(char* out, std::size_t capacity) override;
  bool is_for_loading_thread() const override {
    return !is_rewound_ && input_.is_for_loading_thread();
  }
  bool has_only_lines() const override { return has_only_lines_; }
  std::optional<std::uint64_t> size() const override {
    return is_at_end_ ? bytes_read() : input_.size();
  }
  // A stream that is kept must have been read to its end.
  void rewind() override;
  void abandon() noexcept override {
    if (!is_read_from_kept()) input_.abandon();
  }
  // From now on, bytes are not kept if the input can be read again, which takes longer: a further
  // reading is then not expected.
  void stop_keeping() {
    if (input_.can_rewind()) keeps_ = false;
  }

  // Whether the input has no known size, and perhaps cannot itself be read again.
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
  bool is_read_from_kept() const { return is_rewound_ && keeps_; }

  Input& input_;
  journal::Sha256 hash_;
  std::string folder_;
  std::atomic<bool> keeps_;
  bool has_digest_;
  bool has_only_lines_;
  std::atomic<std::uint64_t> bytes_read_ = 0;
  std::atomic<bool> is_at_end_ = false;
  bool is_rewound_ = false;
  std::string first_;  // of the kept bytes; empty if they are in the file
  std::optional<files::UnnamedFile> file_;
  std::uint64_t at_ = 0;  // the next kept byte to read
};

}  // namespace comptroller::load
