#include "sqlite_format/src/pages.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "sqlite_format/src/header.hpp"

namespace sqlite_format {

namespace {

constexpr std::size_t max_bytes = std::size_t{4} << 20U;  // in slots
constexpr std::uint32_t pages_read_ahead = 16;

}  // namespace

// Page P is read from the WAL if a frame in (nBackfill, mxFrame] has it, else from the file. Both
// stay valid for the transaction: the WAL begins again only when every frame is in the file and no
// reader needs one. nBackfill is read before the header is compared: a restart changes the header
// first, so an equal header proves that nBackfill belongs to it.
bool Pages::follow(const LastCommit& before) {
  const auto backfilled = count_backfilled(connection_);
  if (!backfilled || before != LastCommit::read(connection_)) return false;
  backfilled_ = *backfilled;
  window_count_ = 0;
  if (state_ != 0 && before == commit_) return is_supported_;
  commit_ = before;
  header_ = WalIndexHeader::of(before);
  ++state_;
  is_supported_ = false;
  is_supported_ = has_supported_header();
  return is_supported_;
}

bool Pages::has_supported_header() {
  FileHeader header;
  if (page_size_ == 0) {
    sqlite3_file* const file = file_of(connection_, SQLITE_FCNTL_FILE_POINTER);
    if (read_at(*file, header.bytes.data(), header.bytes.size(), 0) != SQLITE_OK) return false;
    const std::size_t page_size = header.page_size();
    if (!std::has_single_bit(page_size) || page_size < 512) return false;
    page_size_ = page_size;
    slots_.resize(max_bytes / page_size);
  }
  if (header_.max_frame != 0 && header_.bytes_per_page() != page_size_) return false;
  std::memcpy(header.bytes.data(), page(1), header.bytes.size());
  count_ = header.number(page_count_at);
  schema_version_ = header.number(schema_cookie_at);
  return header.is_supported();
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
  if (find_frame(connection_, number, backfilled_, header_.max_frame) != 0) return page(number);
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
  const std::uint32_t frame = find_frame(connection_, number, backfilled_, header_.max_frame);
  if (frame == 0) return read_file(number, 1, into);
  sqlite3_file* const wal = file_of(connection_, SQLITE_FCNTL_JOURNAL_POINTER);
  frame_.resize(frame_header_size + page_size_);
  const std::int64_t offset =
      std::int64_t{wal_header_size} + (std::int64_t{frame} - 1) * std::ssize(frame_);
  if (wal == nullptr || read_at(*wal, frame_.data(), frame_.size(), offset) != SQLITE_OK ||
      read_number<std::uint32_t>(frame_.data()) != number ||
      std::memcmp(frame_.data() + salts_in_frame, header_.salts.data(), header_.salts.size()) !=
          0) {
    throw Failure(SQLITE_PROTOCOL, "a frame of the WAL could not be read");
  }
  std::memcpy(into, frame_.data() + frame_header_size, page_size_);
}

void Pages::read_file(std::uint32_t number, std::uint32_t count, char* into) const {
  if (number == 0) throw_corrupt();
  sqlite3_file* const file = file_of(connection_, SQLITE_FCNTL_FILE_POINTER);
  const std::int64_t offset = (std::int64_t{number} - 1) * static_cast<std::int64_t>(page_size_);
  const int result =
      file == nullptr ? SQLITE_IOERR : read_at(*file, into, count * page_size_, offset);
  if (result == SQLITE_IOERR_SHORT_READ) throw_corrupt();
  if (result != SQLITE_OK) throw Failure(result, "a page could not be read");
}

}  // namespace sqlite_format
