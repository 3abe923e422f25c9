// Makes scans and lookups. The columns are positions in the table.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "sqlite_format/sqlite_format.hpp"
#include "sqlite_format/src/pages.hpp"
#include "sqlite_format/src/table.hpp"

namespace sqlite_format {

struct KeyRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
};
std::unique_ptr<Scan> make_scan(Pages& pages, const Table& table,
                                std::span<const std::size_t> columns, KeyRange range,
                                std::function<void()> check);
std::unique_ptr<Lookup> make_lookup(Pages& pages, const Table& table,
                                    std::span<const std::size_t> columns);

}  // namespace sqlite_format
