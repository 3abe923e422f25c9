// The rows of a table in order of key, read with COPY.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "db/database.hpp"
#include "db/postgresql/channel.hpp"
#include "db/postgresql/part_size.hpp"

namespace comptroller::db::postgresql {

// Returns a SELECT of the key and the columns of a scan, without conditions.
std::string select_of(const TableScan& scan);

// Reads one part after the other, so that the connection can run other statements between steps.
class CopiedScan final : public Statement {
 public:
  // Only in a snapshot. `types` are those of the key and the columns.
  CopiedScan(Channel& channel, const TableScan& scan, std::vector<unsigned> types);
  ~CopiedScan() override = default;
  CopiedScan(const CopiedScan&) = delete;
  CopiedScan& operator=(const CopiedScan&) = delete;

  bool step() override { return step_rows(1) > 0; }
  std::size_t step_rows(std::size_t max) override;
  std::string place_of(int index, std::size_t row) override;
  void reset() override;

 private:
  CopiedScan(Channel& channel, const TableScan& scan, std::vector<unsigned> types,
             std::vector<Value> values);

  void read_part();
  // Reads the next row of the part as a row of the step; returns false after the last one.
  bool read_row(std::size_t row);
  void end_part();
  Value take_value(unsigned type);
  std::int64_t take_number(unsigned type, std::size_t size);
  std::string_view take(std::size_t size);

  Channel& channel_;
  std::string table_;
  std::vector<std::string> names_;
  std::vector<unsigned> types_;
  std::string select_;  // without the first key
  std::int64_t from_;   // the first key of the next part
  std::int64_t last_;   // the last key of the scan
  PartSize size_;       // of a part
  bool has_ended_ = false;
  std::string part_;           // as COPY sent it
  std::string_view left_;      // of the part
  std::int64_t rows_ = 0;      // of the part that were read
  std::int64_t key_ = 0;       // of the last of these
  std::vector<Value> values_;  // of the rows of the step
  std::vector<std::int64_t> keys_;
};

}  // namespace comptroller::db::postgresql
