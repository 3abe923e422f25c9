// Records in a temporary file, each after its size.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sqlite_format/src/descriptor.hpp"

namespace sqlite_format {

// Takes more records than fit into memory. For one thread at a time.
class RecordFile {
 public:
  // Owns the descriptor, which is that of an empty file.
  explicit RecordFile(int descriptor) : file_(descriptor) {}

  void append(std::string_view record);
  // Writes the buffered records; returns the size of the file.
  std::uint64_t flush();

  // Reads the records from `begin` until before `end` in order. The file must have been flushed,
  // and must outlive the cursor.
  class Cursor {
   public:
    Cursor(const RecordFile& file, std::uint64_t begin, std::uint64_t end)
        : descriptor_(file.file_.number()), begin_(begin), end_(end) {}

    // Advances to the next record; returns false at the end.
    bool next();
    // The current record, valid until the next call.
    std::string_view record() const { return record_; }

   private:
    std::size_t left() const { return buffer_.size() - at_; }
    void fill(std::size_t wanted);

    int descriptor_;
    std::uint64_t begin_;  // of the bytes that are not in the buffer yet
    std::uint64_t end_;
    std::string buffer_;
    std::size_t at_ = 0;
    std::string_view record_;
  };

 private:
  Descriptor file_;
  std::uint64_t size_ = 0;
  std::string buffer_;  // the end of the file, not yet written
};

}  // namespace sqlite_format
