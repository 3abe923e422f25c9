#include "db/sqlite/pages.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "db/sqlite/file_header.hpp"
#include "db/sqlite/table_format.hpp"
#include "model/error.hpp"

namespace comptroller::db::sqlite {

namespace {

constexpr std::size_t max_bytes = std::size_t{4} << 20U;  // in slots
constexpr std::uint32_t pages_read_ahead = 16;

}  // namespace

// A page is in the log if one of the commit's frames that no checkpoint has written to the file has
// it. These frames stay in the log while the transaction is open: the log restarts only after a
// checkpoint wrote all of it and no transaction needs it. The restart changes the last commit first
// and the number of written frames then, so this number, read before the last commit, belongs to
// it.
bool Pages::follow(const LastCommit& before) {
  const auto frames_in_file = count_frames_in_file(connection_);
  if (!frames_in_file || before != LastCommit::of(connection_)) return false;
  frames_in_file_ = *frames_in_file;
  window_count_ = 0;
  if (state_ != 0 && before == commit_) return is_usual_;
  commit_ = before;
  ++state_;
  is_usual_ = false;
  is_usual_ = has_usual_header();
  return is_usual_;
}

bool Pages::has_usual_header() {
  FileHeader header;
  if (page_size_ == 0) {
    sqlite3_file* const file = file_of(connection_, SQLITE_FCNTL_FILE_POINTER);
    if (read_at(*file, header.bytes.data(), header.bytes.size(), 0) != SQLITE_OK) return false;
    const std::size_t page_size = header.page_size();
    if (!std::has_single_bit(page_size) || page_size < 512) return false;
    page_size_ = page_size;
    slots_.resize(max_bytes / page_size);
  }
  if (commit_.frames != 0 && commit_.bytes_of_page() != page_size_) return false;
  std::memcpy(header.bytes.data(), page(1), header.bytes.size());
  count_ = header.number(page_count_at);
  schema_version_ = header.number(schema_version_at);
  return header.is_usual();
}

const char* Pages::page(std::uint32_t number) {
  Slot& slot = slots_[number & (slots_.size() - 1)];
  if (slot.number != number || slot.state != state_) {
    slot.state = 0;
    if (!slot.bytes) slot.bytes = std::make_unique_for_overwrite<char[]>(page_size_);  // NOLINT
    read(number, slot.bytes.get());
    slot.number = number;
    slot.state = state_;
  }
  return slot.bytes.get();
}

const char* Pages::read_ahead(std::uint32_t number) {
  if (find_frame(connection_, number, frames_in_file_, commit_.frames) != 0) return page(number);
  if (number - window_begin_ >= window_count_) {
    sqlite3_file* const file = file_of(connection_, SQLITE_FCNTL_FILE_POINTER);
    sqlite3_int64 size = 0;
    if (file == nullptr || file->pMethods->xFileSize(file, &size) != SQLITE_OK) size = 0;
    // A checkpoint may truncate the file meanwhile, but keeps the pages of this transaction.
    const std::int64_t in_file = size / static_cast<std::int64_t>(page_size_);
    const std::int64_t left = std::min<std::int64_t>(in_file, count_) - number + 1;
    const auto count =
        static_cast<std::uint32_t>(std::clamp<std::int64_t>(left, 1, pages_read_ahead));
    window_.resize(pages_read_ahead * page_size_);
    window_count_ = 0;
    read_file(number, count, window_.data());
    window_begin_ = number;
    window_count_ = count;
  }
  return window_.data() + (number - window_begin_) * page_size_;
}

void Pages::copy(std::uint32_t number, std::vector<char>& into) {
  into.resize(page_size_);
  read(number, into.data());
}

void Pages::read(std::uint32_t number, char* into) {
  const std::uint32_t frame = find_frame(connection_, number, frames_in_file_, commit_.frames);
  if (frame == 0) return read_file(number, 1, into);
  sqlite3_file* const log = file_of(connection_, SQLITE_FCNTL_JOURNAL_POINTER);
  frame_.resize(frame_header_size + page_size_);
  const std::int64_t offset =
      std::int64_t{log_header_size} + (std::int64_t{frame} - 1) * std::ssize(frame_);
  if (log == nullptr || read_at(*log, frame_.data(), frame_.size(), offset) != SQLITE_OK ||
      read_number<std::uint32_t>(frame_.data()) != number ||
      std::memcmp(frame_.data() + salts_in_frame, commit_.salts.data(), commit_.salts.size()) !=
          0) {
    throw Error(Code::unavailable, "the log of the store could not be read; try again");
  }
  std::memcpy(into, frame_.data() + frame_header_size, page_size_);
}

void Pages::read_file(std::uint32_t number, std::uint32_t count, char* into) const {
  if (number == 0) throw_damaged_page();
  sqlite3_file* const file = file_of(connection_, SQLITE_FCNTL_FILE_POINTER);
  const std::int64_t offset = (std::int64_t{number} - 1) * static_cast<std::int64_t>(page_size_);
  const int result =
      file == nullptr ? SQLITE_IOERR : read_at(*file, into, count * page_size_, offset);
  if (result == SQLITE_IOERR_SHORT_READ) throw_damaged_page();
  if (result != SQLITE_OK) throw Error(Code::unavailable, "the disk reported an I/O error");
}

}  // namespace comptroller::db::sqlite
