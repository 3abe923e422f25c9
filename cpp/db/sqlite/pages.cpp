#include "db/sqlite/pages.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "model/error.hpp"

namespace comptroller::db::sqlite {

namespace {

constexpr std::uint32_t format_of_log = 3'007'000;
constexpr std::size_t index_region_size = 32768;
constexpr std::size_t log_header_size = 32;
constexpr std::size_t frame_header_size = 24;
constexpr std::uint32_t pages_read_ahead = 16;

// The header of the index of a log; the index contains it twice.
struct IndexHeader {
  std::uint32_t version;
  std::uint32_t unused;
  std::uint32_t changes;
  std::uint8_t is_initialised;
  std::uint8_t has_big_endian_checksums;
  std::uint16_t page_size;  // 1: 65536
  std::uint32_t frames;
  std::uint32_t pages;
  std::array<std::uint32_t, 2> frame_checksum;
  std::array<char, 8> salts;
  std::array<std::uint32_t, 2> checksum;
};
static_assert(sizeof(IndexHeader) == 48);

// The running checksum of a log.
class Checksum {
 public:
  Checksum(bool is_big_endian, std::array<std::uint32_t, 2> sums)
      : swaps_(is_big_endian != (std::endian::native == std::endian::big)), sums_(sums) {}

  void add(const char* bytes, std::size_t size) {
    for (std::size_t at = 0; at < size; at += 2 * sizeof(std::uint32_t)) {
      sums_[0] += word(bytes + at) + sums_[1];
      sums_[1] += word(bytes + at + sizeof(std::uint32_t)) + sums_[0];
    }
  }
  const std::array<std::uint32_t, 2>& sums() const { return sums_; }

 private:
  std::uint32_t word(const char* at) const {
    std::uint32_t word = 0;
    std::memcpy(&word, at, sizeof word);
    return swaps_ ? __builtin_bswap32(word) : word;
  }

  bool swaps_;
  std::array<std::uint32_t, 2> sums_;
};

// Returns a file that SQLite holds open for a connection; null if there is none.
sqlite3_file* file_of(sqlite3* connection, int operation) {
  sqlite3_file* file = nullptr;
  const int result = sqlite3_file_control(connection, "main", operation, static_cast<void*>(&file));
  return result == SQLITE_OK && file != nullptr && file->pMethods != nullptr ? file : nullptr;
}

bool read_at(sqlite3_file& file, char* into, std::size_t size, std::int64_t offset) {
  return file.pMethods->xRead(&file, into, static_cast<int>(size), offset) == SQLITE_OK;
}

std::array<std::uint32_t, 2> two_numbers(const char* at) {
  return {read_number<std::uint32_t>(at), read_number<std::uint32_t>(at + 4)};
}

}  // namespace

void throw_damaged_page() {
  throw Error::damaged("a page of its file is not as SQLite writes it");
}

std::optional<LastCommit> LastCommit::of(sqlite3* connection) {
  sqlite3_file* const file = file_of(connection, SQLITE_FCNTL_FILE_POINTER);
  if (file == nullptr || file->pMethods->iVersion < 2) return std::nullopt;
  void volatile* region = nullptr;
  const int result = file->pMethods->xShmMap(file, 0, index_region_size, 0, &region);
  if (result != SQLITE_OK || region == nullptr) return std::nullopt;
  file->pMethods->xShmBarrier(file);
  std::array<IndexHeader, 2> headers{};
  // Other processes may be writing the header.
  std::copy_n(static_cast<const volatile char*>(region), sizeof headers,
              reinterpret_cast<char*>(headers.data()));
  const IndexHeader& header = headers.front();
  Checksum checksum(std::endian::native == std::endian::big, {});
  checksum.add(reinterpret_cast<const char*>(&header), sizeof header - sizeof header.checksum);
  if (std::memcmp(&headers[0], &headers[1], sizeof header) != 0 ||
      header.version != format_of_log || header.is_initialised == 0 ||
      checksum.sums() != header.checksum) {
    return std::nullopt;
  }
  return LastCommit{.frames = header.frames,
                    .pages = header.pages,
                    .changes = header.changes,
                    .checksum = header.frame_checksum,
                    .salts = header.salts,
                    .has_big_endian_checksums = header.has_big_endian_checksums != 0,
                    .page_size = header.page_size == 1 ? 65536U : header.page_size};
}

std::shared_ptr<const LogPages> LogPages::read(sqlite3* connection, const LastCommit& commit) {
  auto log = std::make_shared<LogPages>();
  if (commit.frames == 0) return log;
  const std::size_t frame_size = frame_header_size + commit.page_size;
  if (commit.frames * frame_size > max_bytes) return nullptr;
  sqlite3_file* const file = file_of(connection, SQLITE_FCNTL_JOURNAL_POINTER);
  std::array<char, log_header_size> header{};
  if (file == nullptr || !read_at(*file, header.data(), header.size(), 0)) return nullptr;
  constexpr std::size_t before_checksum = log_header_size - 8;
  Checksum checksum(commit.has_big_endian_checksums, {});
  checksum.add(header.data(), before_checksum);
  if (checksum.sums() != two_numbers(header.data() + before_checksum)) return nullptr;
  std::vector<char> frame(frame_size);
  auto offset = static_cast<std::int64_t>(log_header_size);
  for (std::uint32_t number = 0; number < commit.frames; ++number) {
    if (!read_at(*file, frame.data(), frame_size, offset)) return nullptr;
    offset += static_cast<std::int64_t>(frame_size);
    if (std::memcmp(frame.data() + 8, commit.salts.data(), commit.salts.size()) != 0) {
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
  } else if (!read_at(*file, header.data(), header.size(), 0)) {
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
  if (!read_at(*file_, into, count * page_size_, offset)) {
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
