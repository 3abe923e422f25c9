#include "db/postgresql/copied_scan.hpp"

#include <algorithm>
#include <utility>

#include "db/postgresql/copied_rows.hpp"
#include "db/postgresql/values.hpp"
#include "model/error.hpp"

namespace comptroller::db::postgresql {

namespace {

constexpr std::size_t max_rows_of_step = 256;

// COPY has no parameters.
std::string literal(std::int64_t number) {
  return "'" + std::to_string(number) + "'::bigint";
}

// The + keeps PostgreSQL from an index of the column, whose rows it would sort.
std::string condition_of(const TableScan::Condition& condition) {
  const std::string column = " AND +" + std::string(condition.column);
  if (condition.is_range) {
    return column + " >= " + literal(condition.values.front()) + column + " < " +
           literal(condition.values.back());
  }
  std::string numbers;
  for (const std::int64_t number : condition.values) {
    numbers.append(numbers.empty() ? "" : ", ").append(literal(number));
  }
  return numbers.empty() ? " AND false" : column + " IN (" + numbers + ")";
}

}  // namespace

std::string select_of(const TableScan& scan) {
  std::string select = "SELECT key";
  for (const std::string_view column : scan.columns) select.append(", ").append(column);
  return select.append(" FROM ").append(scan.table);
}

CopiedScan::CopiedScan(Channel& channel, const TableScan& scan, std::vector<unsigned> types)
    : CopiedScan(channel, scan, std::move(types),
                 std::vector<Value>(max_rows_of_step * scan.columns.size())) {}

CopiedScan::CopiedScan(Channel& channel, const TableScan& scan, std::vector<unsigned> types,
                       std::vector<Value> values)
    : Statement(values.data(), scan.columns.size()),
      channel_(channel),
      table_(scan.table),
      names_(scan.columns.begin(), scan.columns.end()),
      types_(std::move(types)),
      select_(select_of(scan) + " WHERE key <= " + literal(scan.last)),
      from_(scan.from),
      last_(scan.last),
      values_(std::move(values)),
      keys_(max_rows_of_step) {
  for (const auto& condition : scan.conditions) select_ += condition_of(condition);
  use();
}

std::size_t CopiedScan::step_rows(std::size_t max) {
  const std::size_t wanted = std::min(max, max_rows_of_step);
  std::size_t rows = 0;
  while (rows == 0 && !has_ended_) {
    if (left_.empty()) read_part();
    while (rows < wanted && read_row(rows)) ++rows;
  }
  return rows;
}

std::string CopiedScan::place_of(int index, std::size_t row) {
  return db::place_of(table_, names_.at(static_cast<std::size_t>(index)), keys_.at(row));
}

void CopiedScan::reset() {
  std::string().swap(part_);
  left_ = {};
  Statement::reset();
}

void CopiedScan::read_part() {
  part_ = channel_.copy_out("COPY (" + select_ + " AND key >= " + literal(from_) +
                            " ORDER BY key LIMIT " + std::to_string(size_.rows()) +
                            ") TO STDOUT BINARY");
  left_ = part_;
  rows_ = 0;
  take(copied_header.size());
}

bool CopiedScan::read_row(std::size_t row) {
  if (take_number(int2_type, size_of_int2) == end_of_copied) {
    end_part();
    return false;
  }
  key_ = take_value(types_.front()).integer;
  keys_[row] = key_;
  ++rows_;
  for (std::size_t column = 0; column < names_.size(); ++column) {
    try {
      values_[row * names_.size() + column] = take_value(types_[column + 1]);
    } catch (const Error& error) {
      if (!is_of_damage(error)) throw;
      throw located(error, place_of(static_cast<int>(column), row));
    }
  }
  return true;
}

void CopiedScan::end_part() {
  has_ended_ = rows_ < size_.rows() || key_ == last_;
  if (has_ended_) return;
  from_ = key_ + 1;
  size_.learn(rows_, std::ssize(part_));
}

Value CopiedScan::take_value(unsigned type) {
  const std::int64_t size = take_number(int4_type, length_size);
  return size < 0 ? Value::null() : decode(take(static_cast<std::size_t>(size)), type);
}

std::int64_t CopiedScan::take_number(unsigned type, std::size_t size) {
  return decode(take(size), type).integer;
}

std::string_view CopiedScan::take(std::size_t size) {
  if (left_.size() < size) throw Error(Code::internal, "the data of a COPY ends early");
  const std::string_view bytes = left_.substr(0, size);
  left_.remove_prefix(size);
  return bytes;
}

}  // namespace comptroller::db::postgresql
