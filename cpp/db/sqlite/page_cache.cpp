#include "db/sqlite/page_cache.hpp"

#include <algorithm>
#include <cstring>

#include "db/sqlite/file_header.hpp"
#include "db/sqlite/table_format.hpp"
#include "model/error.hpp"

namespace comptroller::db::sqlite {

// A page is in the log if one of the commit's frames that no checkpoint has written to the file has
// it. These frames stay in the log while the transaction is open: the log restarts only after a
// checkpoint wrote all of it and no transaction needs it. The restart changes the last commit first
// and the number of written frames then, so this number, read before the last commit, belongs to
// it.
bool PageCache::follow(const LastCommit& before) {
  const auto frames_in_file = count_frames_in_file(connection_);
  if (!frames_in_file || before != LastCommit::of(connection_)) return false;
  frames_in_file_ = *frames_in_file;
  if (state_ != 0 && before == commit_) return is_usual_;
  commit_ = before;
  ++state_;
  is_usual_ = false;
  if (!has_usual_size()) return false;
  slots_.resize(slots);
  const char* const header = page(1);
  page_count_ = read_number<std::uint32_t>(header + page_count_at);
  schema_version_ = read_number<std::uint32_t>(header + schema_version_at);
  is_usual_ = header[reserved_bytes_at] == 0 &&
              read_number<std::uint32_t>(header + encoding_at) == SQLITE_UTF8;
  return is_usual_;
}

bool PageCache::has_usual_size() const {
  if (commit_.frames != 0) return commit_.page_size == page_size;
  sqlite3_file* const file = file_of(connection_, SQLITE_FCNTL_FILE_POINTER);
  std::array<char, file_header_size> header{};
  return file != nullptr && read_at(*file, header.data(), header.size(), 0) == SQLITE_OK &&
         read_number<std::uint16_t>(header.data() + page_size_at) == page_size;
}

const char* PageCache::page(std::uint32_t number) {
  Slot& slot = slots_[number % slots];
  if (slot.number != number || slot.state != state_) {
    slot.state = 0;
    if (!slot.bytes) slot.bytes = std::make_unique<std::array<char, page_size>>();
    read(number, slot.bytes->data());
    slot.number = number;
    slot.state = state_;
  }
  return slot.bytes->data();
}

void PageCache::copy(std::uint32_t number, std::vector<char>& into) {
  into.resize(page_size);
  read(number, into.data());
}

void PageCache::read(std::uint32_t number, char* into) const {
  if (number == 0) throw_damaged_page();
  const std::uint32_t frame = find_frame(connection_, number, frames_in_file_, commit_.frames);
  if (frame == 0) {
    sqlite3_file* const file = file_of(connection_, SQLITE_FCNTL_FILE_POINTER);
    const std::int64_t offset = (std::int64_t{number} - 1) * std::int64_t{page_size};
    const int result = file == nullptr ? SQLITE_IOERR : read_at(*file, into, page_size, offset);
    if (result == SQLITE_IOERR_SHORT_READ) throw_damaged_page();
    if (result != SQLITE_OK) throw Error(Code::unavailable, "the disk reported an I/O error");
    return;
  }
  sqlite3_file* const log = file_of(connection_, SQLITE_FCNTL_JOURNAL_POINTER);
  std::array<char, frame_header_size + page_size> bytes;  // NOLINT: written before it is read
  const std::int64_t offset =
      std::int64_t{log_header_size} + (std::int64_t{frame} - 1) * std::int64_t{bytes.size()};
  if (log == nullptr || read_at(*log, bytes.data(), bytes.size(), offset) != SQLITE_OK ||
      read_number<std::uint32_t>(bytes.data()) != number ||
      std::memcmp(bytes.data() + salts_in_frame, commit_.salts.data(), commit_.salts.size()) != 0) {
    throw Error(Code::unavailable, "the log of the store could not be read; try again");
  }
  std::copy_n(bytes.data() + frame_header_size, page_size, into);
}

}  // namespace comptroller::db::sqlite
