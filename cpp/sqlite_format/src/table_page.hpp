// The pages of a table's b-tree (fileformat2.html, 1.6). Every position and size in a page is
// checked before use.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sqlite_format {

inline constexpr std::size_t max_levels = 20;  // of a b-tree

struct TablePage {
  const char* bytes;
  std::size_t size;

  bool is_leaf() const;  // throws for a page of another kind
  std::size_t cells() const;
  // A page whose subtree has the keys up to and including the last.
  struct Child {
    std::uint32_t page = 0;
    std::int64_t last_key = 0;
  };
  Child child(std::size_t cell) const;  // of an interior page
  std::uint32_t last_child() const;
  // A record of a leaf.
  struct Cell {
    std::int64_t key = 0;
    std::uint64_t size = 0;
    const char* payload = nullptr;  // its first bytes
  };
  Cell cell(std::size_t cell) const;
};

// Returns how many bytes of a record stay in its cell, at most `most`, on a page of this size. The
// others are in overflow pages.
inline std::size_t local_size(std::size_t record, std::size_t most, std::size_t page) {
  if (record <= most) return record;
  const std::size_t least = (page - 12) * 32 / 255 - 23;
  const std::size_t best = least + (record - least) % (page - 4);
  return best <= most ? best : least;
}

}  // namespace sqlite_format
