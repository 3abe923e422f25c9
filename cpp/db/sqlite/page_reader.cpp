#include "db/sqlite/page_reader.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <utility>
#include <vector>

#include "db/select_list.hpp"
#include "model/error.hpp"

namespace comptroller::db::sqlite {

namespace {

constexpr std::size_t max_lookups = 32;

// A copy of 32 bytes, because both types have the same members in the same order.
Value value_of(const sqlite_format::Value& value) {
  using Read = sqlite_format::Value;
  static_assert(offsetof(Value, kind) == offsetof(Read, type));
  static_assert(offsetof(Value, integer) == offsetof(Read, integer));
  static_assert(offsetof(Value, bytes) == offsetof(Read, bytes));
  static_assert(static_cast<int>(Value::Kind::real) == static_cast<int>(Read::Type::real));
  return std::bit_cast<Value>(value);
}

// Returns the names of columns as sqlite_format reads them.
std::vector<std::string_view> names_of(std::vector<std::string_view> columns) {
  for (std::string_view& column : columns) {
    if (column.starts_with(null_column)) column = {};
  }
  return columns;
}

}  // namespace

class PageReader::Scan final : public Statement {
 public:
  Scan(Handle& connection, std::unique_ptr<sqlite_format::Scan> rows, const TableScan& scan,
       std::vector<Value> values)
      : Statement(values.data(), scan.columns.size()),
        connection_(connection),
        scan_(std::move(rows)),
        table_(scan.table),
        names_(scan.columns.begin(), scan.columns.end()),
        width_(scan.columns.size()),
        conditions_(scan.conditions),
        values_(std::move(values)) {
    for (TableScan::Condition& condition : conditions_) {
      names_.emplace_back(condition.column);
      if (!condition.is_range) std::ranges::sort(condition.values);
    }
    use();
  }

  bool step() override { return step_rows(1) > 0; }
  std::size_t step_rows(std::size_t max) override {
    return connection_.translate([&] {
      std::size_t count = 0;
      for (std::size_t read = 1; read > 0 && count == 0;) {
        read = scan_->next(max);
        for (std::size_t row = 0; row < read; ++row) count += keep(row, count) ? 1 : 0;
      }
      return count;
    });
  }
  std::string place_of(int index, std::size_t row) override {
    return db::place_of(table_, names_.at(static_cast<std::size_t>(index)), keys_.at(row));
  }

 private:
  // Stores a row that was read as row `place` of the step, if it meets the conditions.
  bool keep(std::size_t row, std::size_t place) {
    const sqlite_format::Value* const read = scan_->row(row);
    keys_[place] = scan_->key(row);
    for (std::size_t i = 0; i < conditions_.size(); ++i) {
      if (!satisfies(conditions_[i], read[width_ + i], width_ + i, place)) return false;
    }
    std::transform(read, read + width_, values_.data() + place * width_, &value_of);
    return true;
  }

  bool satisfies(const TableScan::Condition& condition, const sqlite_format::Value& value,
                 std::size_t index, std::size_t place) {
    if (value.is_null()) return false;
    if (value.type != sqlite_format::Value::Type::integer) {
      throw located(wrong_type(value_of(value), "an integer"),
                    place_of(static_cast<int>(index), place));
    }
    const auto& values = condition.values;
    return condition.is_range ? value.integer >= values[0] && value.integer < values[1]
                              : std::ranges::binary_search(values, value.integer);
  }

  Handle& connection_;
  std::unique_ptr<sqlite_format::Scan> scan_;  // of the columns, then those of the conditions
  std::string table_;
  std::vector<std::string> names_;  // of these columns
  std::size_t width_;
  std::vector<TableScan::Condition> conditions_;  // with values in order
  std::vector<Value> values_;
  std::array<std::int64_t, sqlite_format::Scan::max_rows> keys_{};  // of the rows of the step
};

class PageReader::Lookup final : public Statement {
 public:
  Lookup(Handle& connection, std::unique_ptr<sqlite_format::Lookup> lookup, std::string table,
         std::string columns, std::vector<Value> values)
      : Statement(values.data(), values.size()),
        connection_(connection),
        lookup_(std::move(lookup)),
        table_(std::move(table)),
        columns_(std::move(columns)),
        values_(std::move(values)) {}

  using Statement::bind;
  void bind(int, const Value& key) override {
    key_ = key.integer;
    is_bound_ = true;
  }
  bool step() override {
    if (!std::exchange(is_bound_, false)) return false;
    const sqlite_format::Value* const row =
        connection_.translate([&] { return lookup_->find(key_); });
    if (row == nullptr) return false;
    std::transform(row, row + values_.size(), values_.data(), &value_of);
    return true;
  }
  std::string place_of(int index, std::size_t) override {
    return db::place_of(table_, split_select_list(columns_).at(static_cast<std::size_t>(index)),
                        key_);
  }

 private:
  Handle& connection_;
  std::unique_ptr<sqlite_format::Lookup> lookup_;
  std::string table_;
  std::string columns_;
  std::vector<Value> values_;
  std::int64_t key_ = 0;  // to find in the next step
  bool is_bound_ = false;
};

PageReader::PageReader(Handle& connection)
    : connection_(connection), snapshot_(sqlite_format::Snapshot::make(connection.handle())) {}

PageReader::~PageReader() = default;

void PageReader::end() noexcept {
  before_.reset();
  can_read_ = false;
}

// Whether the pages of the snapshot can be read.
bool PageReader::can_read() {
  if (const auto before = std::exchange(before_, std::nullopt)) {
    can_read_ = !is_off_ && connection_.translate([&] { return snapshot_->follow(*before); });
  }
  return can_read_;
}

std::optional<sqlite_format::LastCommit> PageReader::present_commit() {
  const auto before = before_;
  can_read();  // while its commit is the last one
  const auto now = sqlite_format::LastCommit::read(connection_.handle());
  return before == now ? before : std::nullopt;
}

// Whether a query reads pages, which must stay in memory while its values are in use.
bool PageReader::is_in_use() const {
  const auto is_used = [](const KnownLookup& each) { return each.rows && each.rows->is_in_use(); };
  return (scan_ && scan_->is_in_use()) || std::ranges::any_of(lookups_, is_used);
}

std::optional<Query> PageReader::scan(const TableScan& scan) {
  if (!can_read() || is_in_use()) return std::nullopt;
  std::vector<std::string_view> columns = scan.columns;
  for (const auto& condition : scan.conditions) columns.push_back(condition.column);
  auto rows = connection_.translate([&] {
    return snapshot_->scan(scan.table, names_of(columns), scan.from, scan.last,
                           [&connection = connection_] { connection.check_interrupt(); });
  });
  if (!rows) return std::nullopt;
  scan_ = std::make_unique<Scan>(
      connection_, std::move(rows), scan,
      std::vector<Value>(sqlite_format::Scan::max_rows * scan.columns.size()));
  return Query(*scan_);
}

std::optional<Query> PageReader::rows_by_key(std::string_view table, std::string_view columns) {
  if (!can_read() || is_in_use()) return std::nullopt;
  if (schema_of_lookups_ != snapshot_->schema_version() || lookups_.size() == max_lookups) {
    lookups_.clear();
    schema_of_lookups_ = snapshot_->schema_version();
  }
  auto found = std::ranges::find_if(lookups_, [&](const KnownLookup& each) {
    return each.columns == columns && each.table == table;
  });
  if (found == lookups_.end()) {
    found = lookups_.insert(found, {std::string(table), std::string(columns), nullptr});
    const std::vector<std::string_view> names = names_of(split_select_list(columns));
    auto rows = connection_.translate([&] { return snapshot_->lookup(table, names); });
    if (rows) {
      found->rows = std::make_unique<Lookup>(connection_, std::move(rows), found->table,
                                             found->columns, std::vector<Value>(names.size()));
    }
  }
  if (!found->rows) return std::nullopt;
  found->rows->use();
  return Query(*found->rows);
}

}  // namespace comptroller::db::sqlite
