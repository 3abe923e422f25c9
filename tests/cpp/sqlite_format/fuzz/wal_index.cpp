// Bytes of the wal-index are replaced; a snapshot must decline, scans and lookups must fail or end.
#include "sqlite_format/src/wal_index.hpp"

#include <array>
#include <cstring>

#include "sqlite_format/rows.hpp"

namespace {

using namespace sqlite_format;

constexpr std::size_t region_size = 32768;

struct Base {
  Base() : writer(folder / "base.db"), reader(folder / "base.db") {
    make_things(writer, 512);
    Random random(1);
    change_things(writer, random, 100, 2000);
    reader.execute("BEGIN; SELECT count(*) FROM sqlite_schema");
  }
  Folder folder;
  Connection writer;
  Connection reader;
};

void attempt(const auto& read) {
  try {
    read();
  } catch (const Failure&) {  // as it should
  }
}

}  // namespace

// The input: offset in the first region and a byte, repeated.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Base base;
  sqlite3_file* const file = file_of(base.reader.handle(), SQLITE_FCNTL_FILE_POINTER);
  void volatile* mapped = nullptr;
  if (file->pMethods->xShmMap(file, 0, region_size, 0, &mapped) != SQLITE_OK) return 0;
  auto* const region = static_cast<char*>(const_cast<void*>(mapped));
  std::array<char, region_size> sound{};
  std::memcpy(sound.data(), region, region_size);
  const auto before = LastCommit::read(base.reader.handle());
  for (std::size_t at = 0; at + 3 <= size; at += 3) {
    const std::size_t place = std::size_t{data[at]} << 8U | data[at + 1];
    region[place % region_size] = static_cast<char>(data[at + 2]);
  }
  attempt([&] {
    const auto snapshot = Snapshot::make(base.reader.handle());
    if (!before || !snapshot->follow(*before)) return;
    constexpr std::array<std::string_view, 4> columns{"key", "number", "a", "b"};
    const auto scan = snapshot->scan("things", columns, min_key, max_key, [] {});
    while (scan && scan->next(16) > 0) continue;
    const auto lookup = snapshot->lookup("things", columns);
    for (std::int64_t key = 0; lookup && key < 50; ++key) lookup->find(key);
  });
  std::memcpy(region, sound.data(), region_size);
  return 0;
}
