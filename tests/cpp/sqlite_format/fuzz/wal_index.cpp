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
    things = Table::read(reader.handle(), "things").value();
  }
  Folder folder;
  Connection writer;
  Connection reader;
  Table things;
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
  const auto before = WalIndexHeader::read(base.reader.handle());
  for (std::size_t at = 0; at + 3 <= size; at += 3) {
    region[(data[at] << 8U | data[at + 1]) % region_size] = static_cast<char>(data[at + 2]);
  }
  attempt([&] {
    Snapshot snapshot(base.reader.handle());
    if (!before || !snapshot.follow(*before)) return;
    const std::size_t columns[] = {0, 1, 2, 3};
    Scan scan(snapshot, base.things, columns, min_key, max_key, [] {});
    while (scan.next(16) > 0) continue;
    Lookup lookup(snapshot, base.things, columns);
    for (std::int64_t key = 0; key < 50; ++key) lookup.find(key);
  });
  std::memcpy(region, sound.data(), region_size);
  return 0;
}
