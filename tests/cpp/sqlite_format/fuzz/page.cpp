// Bytes of pages of a file, or of its log, are replaced; scans and lookups fail or end. If SQLite
// finds the file sound, they give the rows of SQL.
#include <algorithm>
#include <optional>

#include "sqlite_format/rows.hpp"

namespace {

using namespace sqlite_format;

constexpr std::size_t page_size = 1024;
constexpr std::size_t log_header = 32;
constexpr std::size_t frame_header = 24;

struct Base {
  Base() {
    const Connection writer(folder / "base.db");
    make_things(writer, page_size);
    Random random(1);
    change_things(writer, random, 80, 3000);
    writer.execute("PRAGMA wal_checkpoint(TRUNCATE)");
    bytes = read_file(folder / "base.db");
    change_things(writer, random, 20, 3000);
    log = read_file(folder / "base.db-wal");
    for (std::size_t at = log_header; at < log.size(); at += frame_header + page_size) {
      const std::string_view number = std::string_view(log).substr(at, 4);
      if (number != std::string_view("\0\0\0\1", 4)) frames.push_back(at + frame_header);
    }
  }

  // The place of a page other than the first one, which SQL needs.
  std::size_t place_of(bool is_in_log, std::size_t number) const {
    if (is_in_log) return frames[number % frames.size()];
    return (1 + number % (bytes.size() / page_size - 1)) * page_size;
  }

  Folder folder;
  std::string bytes;
  std::string log;  // of a later commit
  std::vector<std::size_t> frames;
};

}  // namespace

// The input: page, offset, length and bytes, repeated. Bits 2 and 3 of the third byte choose the
// log if they are 1; if no repetition has these, there is no log.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Base base;
  std::string bytes = base.bytes;
  std::string log = base.log;
  bool has_log = false;
  for (std::size_t at = 0; at + 4 < size;) {
    const bool is_in_log = (data[at + 2] >> 2U) % 4U == 1;
    has_log |= is_in_log;
    std::string& target = is_in_log ? log : bytes;
    const std::size_t offset = (data[at + 1] * 4U + data[at + 2] % 4U) % page_size;
    const std::size_t length =
        std::min<std::size_t>({1 + data[at + 3] % 8U, size - at - 4, page_size - offset});
    const std::size_t place = base.place_of(is_in_log, data[at]) + offset;
    std::copy_n(data + at + 4, length, target.begin() + static_cast<std::ptrdiff_t>(place));
    at += 4 + length;
  }
  const std::string path = base.folder / "input.db";
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path + suffix);
  write_file(path, bytes);
  try {
    std::optional<Connection> keeper;
    if (has_log) {
      // While a connection has the log open, nobody compares the checksums of its frames again.
      write_file(path + "-wal", base.log);
      keeper.emplace(path).execute("SELECT count(*) FROM sqlite_schema");
      write_file(path + "-wal", log);
    }
    Reader reader(path);
    if (!reader.is_supported()) return 0;
    const Rows scanned = reader.by_scan();
    const Rows found = reader.by_lookup();
    if (Connection(path).text("PRAGMA integrity_check") != "ok") return 0;
    const Rows rows = reader.by_sql();
    require(scanned == rows, "a scan gives other rows");
    require(found == rows, "lookups give other rows");
  } catch (const Failure&) {  // as it should
  }
  return 0;
}
