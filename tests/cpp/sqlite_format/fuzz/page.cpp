// Bytes of pages of a file are replaced; scans and lookups fail or end. If SQLite finds the file
// sound, they give the rows of SQL.
#include <algorithm>

#include "sqlite_format/rows.hpp"

namespace {

using namespace sqlite_format;

constexpr std::size_t page_size = 1024;

struct Base {
  Base() {
    const Connection writer(folder / "base.db");
    make_things(writer, page_size);
    Random random(1);
    change_things(writer, random, 80, 3000);
    writer.execute("PRAGMA wal_checkpoint(TRUNCATE)");
    bytes = read_file(folder / "base.db");
  }
  Folder folder;
  std::string bytes;
};

}  // namespace

// The input: page, offset, length and bytes, repeated.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Base base;
  std::string bytes = base.bytes;
  const std::size_t pages = bytes.size() / page_size;
  for (std::size_t at = 0; at + 4 < size;) {
    const std::size_t page = 1 + data[at] % (pages - 1);
    const std::size_t offset = (data[at + 1] * 4U + data[at + 2] % 4U) % page_size;
    const std::size_t length =
        std::min<std::size_t>({1 + data[at + 3] % 8U, size - at - 4, page_size - offset});
    std::copy_n(data + at + 4, length,
                bytes.begin() + static_cast<std::ptrdiff_t>(page * page_size + offset));
    at += 4 + length;
  }
  const std::string path = base.folder / "input.db";
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path + suffix);
  write_file(path, bytes);
  try {
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
