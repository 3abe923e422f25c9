// How many rows are read together.
#pragma once

#include <algorithm>
#include <cstdint>

namespace comptroller::db::postgresql {

// Rows of about 4 MiB, if they are as large as those of the part before. They may be larger, so
// there are at most 5,000; the first parts have fewer.
class PartSize {
 public:
  std::int64_t rows() const { return rows_; }
  void learn(std::int64_t rows, std::int64_t bytes) {
    if (rows == 0) return;
    rows_ = std::min({rows * bytes_of_part / bytes + 1, 4 * rows_, max_rows});
  }

 private:
  static constexpr std::int64_t bytes_of_part = std::int64_t{4} << 20U;
  static constexpr std::int64_t max_rows = 5'000;

  std::int64_t rows_ = 256;
};

}  // namespace comptroller::db::postgresql
