// Records of any bytes are decoded or refused.
#include <algorithm>
#include <cstring>
#include <vector>

#include "sqlite_format/files.hpp"
#include "sqlite_format/src/pages.hpp"
#include "sqlite_format/src/record_reader.hpp"
#include "sqlite_format/src/table.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sqlite_format;
  static const Connection connection(":memory:");
  static Table table = [] {
    Table made;
    for (const char* name : {"key", "a", "b", "c"}) made.columns.push_back({name});
    return made;
  }();
  // On the heap, so that a sanitizer sees reads beyond it.
  constexpr std::size_t page_size = 512;
  std::vector<char> page(page_size);
  const std::size_t used = std::min(size, page_size - 16);
  const std::size_t begin = page_size - used;
  page[0] = 13;
  page[4] = 1;
  page[8] = static_cast<char>(begin >> 8U);
  page[9] = static_cast<char>(begin);
  if (used > 0) std::memcpy(page.data() + begin, data, used);
  Pages pages(connection.handle());
  RecordReader reader(pages, table, std::vector<std::size_t>{3, 0, 1, always_null}, 1);
  try {
    const TablePage leaf{page.data(), page.size()};
    if (!leaf.is_leaf() || leaf.cells() == 0) return 0;
    reader.read(leaf, leaf.cell(0));
    std::size_t sum = 0;
    for (int i = 0; i < 4; ++i) {
      for (const char byte : reader.row(0)[i].bytes) sum += static_cast<unsigned char>(byte);
    }
    return sum == 1'000'000'007 ? 1 : 0;  // so that the bytes are read
  } catch (const Failure&) {              // as it should
    return 0;
  }
}
