#include "sqlite_format/src/wal_index.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "sqlite_format/src/header.hpp"

namespace sqlite_format {

namespace {

constexpr std::uint32_t known_version = 3'007'000;

// The wal-index is an array of regions. Each has the pages of its frames, in order of frames, and a
// hash table that leads from a page to its position in the array, from 1. The first region begins
// with the header, twice, and WalCkptInfo, which begins with nBackfill.
constexpr int region_size = 32768;
constexpr std::size_t hash_table_at = 16384;
constexpr std::uint32_t hash_slots = 8192;
constexpr std::uint32_t hash_factor = 383;
constexpr std::uint32_t frames_of_region = 4096;
constexpr std::size_t begin_of_pages = 136;  // in the first region
constexpr std::uint32_t frames_of_first_region = frames_of_region - begin_of_pages / 4;

static_assert(sizeof(WalIndexHeader) == sizeof(LastCommit));

std::array<std::uint32_t, 2> checksum_of(const WalIndexHeader& header) {
  constexpr std::size_t count = (sizeof header - sizeof header.checksum) / sizeof(std::uint32_t);
  std::array<std::uint32_t, count> words{};
  std::memcpy(words.data(), &header, sizeof words);
  std::array<std::uint32_t, 2> sums{};
  for (std::size_t at = 0; at < count; at += 2) {
    sums[0] += words[at] + sums[1];
    sums[1] += words[at + 1] + sums[0];
  }
  return sums;
}

// Returns a region of the wal-index; null if it does not exist.
const volatile char* region_of(sqlite3_file* file, std::uint32_t number) {
  if (file == nullptr || file->pMethods->iVersion < 2) return nullptr;
  void volatile* region = nullptr;
  const int result =
      file->pMethods->xShmMap(file, static_cast<int>(number), region_size, 0, &region);
  return result == SQLITE_OK ? static_cast<const volatile char*>(region) : nullptr;
}

// Other processes may be writing the number.
template <class Number>
Number load(const volatile char* at) {
  return __atomic_load_n(reinterpret_cast<const volatile Number*>(at), __ATOMIC_RELAXED);
}

}  // namespace

sqlite3_file* file_of(sqlite3* connection, int operation) {
  sqlite3_file* file = nullptr;
  const int result = sqlite3_file_control(connection, "main", operation, static_cast<void*>(&file));
  return result == SQLITE_OK && file != nullptr && file->pMethods != nullptr ? file : nullptr;
}

int read_at(sqlite3_file& file, char* into, std::size_t size, std::int64_t offset) {
  return file.pMethods->xRead(&file, into, static_cast<int>(size), offset);
}

WalIndexHeader WalIndexHeader::of(const LastCommit& commit) {
  return std::bit_cast<WalIndexHeader>(commit);
}

std::uint32_t LastCommit::frames() const {
  return WalIndexHeader::of(*this).max_frame;
}

std::size_t LastCommit::bytes_per_frame() const {
  return frame_header_size + WalIndexHeader::of(*this).bytes_per_page();
}

std::optional<LastCommit> LastCommit::read(sqlite3* connection) {
  if (!has_wal(connection)) return std::nullopt;
  sqlite3_file* const file = file_of(connection, SQLITE_FCNTL_FILE_POINTER);
  const volatile char* const region = region_of(file, 0);
  if (region == nullptr) return std::nullopt;
  file->pMethods->xShmBarrier(file);
  std::array<LastCommit, 2> commits;  // the wal-index contains it twice
  // Other processes may be writing the header.
  std::copy_n(region, sizeof commits, reinterpret_cast<char*>(commits.data()));
  const WalIndexHeader header = WalIndexHeader::of(commits.front());
  const bool is_known = commits.front() == commits.back() && header.version == known_version &&
                        header.is_initialised != 0 && header.checksum == checksum_of(header);
  return is_known ? std::optional(commits.front()) : std::nullopt;
}

std::optional<std::uint32_t> count_backfilled(sqlite3* connection) {
  // SQLite would never close the wal-index that this opens.
  if (!has_wal(connection)) return std::nullopt;
  const volatile char* const region = region_of(file_of(connection, SQLITE_FCNTL_FILE_POINTER), 0);
  if (region == nullptr) return std::nullopt;
  return load<std::uint32_t>(region + 2 * sizeof(WalIndexHeader));
}

bool has_wal(sqlite3* connection) {
  return file_of(connection, SQLITE_FCNTL_JOURNAL_POINTER) != nullptr;
}

bool is_wal_file(sqlite3* connection) {
  FileHeader header;
  sqlite3_file* const file = file_of(connection, SQLITE_FCNTL_FILE_POINTER);
  return file != nullptr &&
         read_at(*file, header.bytes.data(), header.bytes.size(), 0) == SQLITE_OK &&
         header.bytes[read_version_at] == write_ahead_log;
}

std::uint32_t find_frame(sqlite3* connection, std::uint32_t page, std::uint32_t after,
                         std::uint32_t last) {
  while (last > after) {
    sqlite3_file* const file = file_of(connection, SQLITE_FCNTL_FILE_POINTER);
    const bool is_first = last <= frames_of_first_region;
    const std::uint32_t number =
        is_first ? 0 : 1 + (last - frames_of_first_region - 1) / frames_of_region;
    const std::uint32_t before =  // frames of the regions before this one
        is_first ? 0 : frames_of_first_region + (number - 1) * frames_of_region;
    const volatile char* const region = region_of(file, number);
    if (region == nullptr) throw Failure(SQLITE_PROTOCOL, "the wal-index cannot be read");
    const volatile char* const pages = region + (is_first ? begin_of_pages : 0);
    std::uint32_t found = 0;
    std::uint32_t slot = page * hash_factor % hash_slots;
    for (std::uint32_t tries = 0; tries < hash_slots; ++tries, slot = (slot + 1) % hash_slots) {
      const auto place = load<std::uint16_t>(region + hash_table_at + slot * sizeof(std::uint16_t));
      if (place == 0) break;
      const std::uint32_t frame = before + place;
      if (frame > after && frame <= last && place <= frames_of_region &&
          load<std::uint32_t>(pages + (place - 1) * sizeof(std::uint32_t)) == page) {
        found = std::max(found, frame);
      }
    }
    if (found != 0) return found;
    last = before;
  }
  return 0;
}

}  // namespace sqlite_format
