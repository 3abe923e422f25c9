#include "sqlite_format/src/record_file.hpp"

#include <algorithm>

#include "sqlite_format/src/bytes.hpp"

namespace sqlite_format {

namespace {

constexpr std::size_t bytes_at_once = std::size_t{1} << 16U;

}  // namespace

void RecordFile::append(std::string_view record) {
  append_varint(buffer_, record.size());
  buffer_ += record;
  if (buffer_.size() >= bytes_at_once) flush();
}

std::uint64_t RecordFile::flush() {
  write_at(file_.number(), buffer_, size_);
  size_ += buffer_.size();
  buffer_.clear();
  return size_;
}

bool RecordFile::Cursor::next() {
  if (left() < max_written_varint) fill(max_written_varint);
  if (left() == 0) return false;
  const char* at = buffer_.data() + at_;
  const auto size = static_cast<std::size_t>(read_varint(at, at + left()));
  at_ = static_cast<std::size_t>(at - buffer_.data());
  if (left() < size) fill(size);
  record_ = std::string_view(buffer_).substr(at_, size);
  at_ += size;
  return true;
}

void RecordFile::Cursor::fill(std::size_t wanted) {
  buffer_.erase(0, at_);
  at_ = 0;
  const std::size_t had = buffer_.size();
  const auto more = std::min<std::uint64_t>(std::max(wanted, bytes_at_once), end_ - begin_);
  buffer_.resize(had + more);
  read_at(descriptor_, buffer_.data() + had, more, begin_);
  begin_ += more;
}

}  // namespace sqlite_format
