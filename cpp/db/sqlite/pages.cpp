#include "db/sqlite/pages.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "db/sqlite/file_header.hpp"
#include "db/sqlite/table_format.hpp"
#include "model/error.hpp"

namespace comptroller::db::sqlite {

namespace {

constexpr std::uint32_t pages_read_ahead = 16;

std::array<std::uint32_t, 2> two_numbers(const char* at) {
  return {read_number<std::uint32_t>(at), read_number<std::uint32_t>(at + 4)};
}

}  // namespace

std::shared_ptr<const LogPages> LogPages::read(sqlite3* connection, const LastCommit& commit) {
  auto log = std::make_shared<LogPages>();
  if (commit.frames == 0) return log;
  const std::size_t frame_size = frame_header_size + commit.page_size;
  if (commit.frames * frame_size > max_bytes) return nullptr;
  sqlite3_file* const file = file_of(connection, SQLITE_FCNTL_JOURNAL_POINTER);
  std::array<char, log_header_size> header{};
  if (file == nullptr || read_at(*file, header.data(), header.size(), 0) != SQLITE_OK) {
    return nullptr;
  }
  constexpr std::size_t before_checksum = log_header_size - 8;
  Checksum checksum(commit.has_big_endian_checksums);
  checksum.add(header.data(), before_checksum);
  if (checksum.sums() != two_numbers(header.data() + before_checksum)) return nullptr;
  std::vector<char> frame(frame_size);
  auto offset = static_cast<std::int64_t>(log_header_size);
  for (std::uint32_t number = 0; number < commit.frames; ++number) {
    if (read_at(*file, frame.data(), frame_size, offset) != SQLITE_OK) return nullptr;
    offset += static_cast<std::int64_t>(frame_size);
    if (std::memcmp(frame.data() + salts_in_frame, commit.salts.data(), commit.salts.size()) != 0) {
      return nullptr;
    }
    checksum.add(frame.data(), 8);
    checksum.add(frame.data() + frame_header_size, commit.page_size);
    if (checksum.sums() != two_numbers(frame.data() + 16)) return nullptr;
    const auto [place, is_new] =
        log->places_.try_emplace(read_number<std::uint32_t>(frame.data()), log->pages_.size());
    if (is_new) log->pages_.resize(log->pages_.size() + commit.page_size);
    std::memcpy(log->pages_.data() + place->second, frame.data() + frame_header_size,
                commit.page_size);
  }
  return checksum.sums() == commit.checksum ? log : nullptr;
}

std::optional<Pages> Pages::of(sqlite3* connection, const LastCommit& commit,
                               std::shared_ptr<const LogPages> log) {
  std::array<char, file_header_size> header{};
  sqlite3_file* const file = file_of(connection, SQLITE_FCNTL_FILE_POINTER);
  sqlite3_int64 size = 0;
  if (file == nullptr || log == nullptr || file->pMethods->xFileSize(file, &size) != SQLITE_OK) {
    return std::nullopt;
  }
  if (const char* const first = log->find(1)) {
    std::memcpy(header.data(), first, header.size());
  } else if (read_at(*file, header.data(), header.size(), 0) != SQLITE_OK) {
    return std::nullopt;
  }
  const auto stated_size = read_number<std::uint16_t>(header.data() + page_size_at);
  const std::uint32_t page_size = stated_size == 1 ? 65536 : stated_size;
  const bool is_usual = std::has_single_bit(page_size) && page_size >= 512 &&
                        (commit.frames == 0 || commit.page_size == page_size) &&
                        header[reserved_bytes_at] == 0 &&
                        read_number<std::uint32_t>(header.data() + largest_root_at) == 0 &&
                        read_number<std::uint32_t>(header.data() + encoding_at) == SQLITE_UTF8;
  if (!is_usual) return std::nullopt;
  // A later checkpoint may truncate the file after the pages of the commit.
  const auto in_file = static_cast<std::uint32_t>(size / page_size);
  const std::uint32_t count = commit.frames == 0 ? in_file : commit.pages;
  return Pages(*file, std::move(log), page_size, std::min(in_file, count), count);
}

void Pages::read_file(std::uint32_t page, std::uint32_t count, char* into) const {
  const auto offset = static_cast<std::int64_t>(page - 1) * static_cast<std::int64_t>(page_size_);
  if (read_at(*file_, into, count * page_size_, offset) != SQLITE_OK) {
    throw Error(Code::unavailable, "the disk reported an I/O error");
  }
}

const char* Pages::read_ahead(std::uint32_t page) {
  if (const char* const logged = log_->find(page)) return logged;
  if (page == 0 || page > in_file_) throw_damaged_page();
  if (page - window_begin_ >= window_count_) {
    window_.resize(pages_read_ahead * page_size_);
    window_count_ = 0;
    const std::uint32_t count = std::min(pages_read_ahead, in_file_ - page + 1);
    read_file(page, count, window_.data());
    window_begin_ = page;
    window_count_ = count;
  }
  return window_.data() + (page - window_begin_) * page_size_;
}

void Pages::read(std::uint32_t page, std::vector<char>& into) const {
  into.resize(page_size_);
  if (const char* const logged = log_->find(page)) {
    std::memcpy(into.data(), logged, page_size_);
    return;
  }
  if (page == 0 || page > in_file_) throw_damaged_page();
  read_file(page, 1, into.data());
}

}  // namespace comptroller::db::sqlite
