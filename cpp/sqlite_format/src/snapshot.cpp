#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "sqlite_format/sqlite_format.hpp"
#include "sqlite_format/src/pages.hpp"
#include "sqlite_format/src/row_reading.hpp"
#include "sqlite_format/src/table.hpp"

namespace sqlite_format {

namespace {

class PagesSnapshot final : public Snapshot {
 public:
  explicit PagesSnapshot(sqlite3* connection) : connection_(connection), pages_(connection) {}

  bool follow(const LastCommit& before) override { return pages_.follow(before); }
  std::uint32_t schema_version() const override { return pages_.schema_version(); }

  std::unique_ptr<Scan> scan(std::string_view table, Columns columns, std::int64_t first,
                             std::int64_t last, std::function<void()> check) override {
    const Table* const found = find(table);
    const auto positions = positions_of(found, columns);
    if (!positions) return nullptr;
    return make_scan(pages_, *found, *positions, {first, last}, std::move(check));
  }
  std::unique_ptr<Lookup> lookup(std::string_view table, Columns columns) override {
    const Table* const found = find(table);
    const auto positions = positions_of(found, columns);
    if (!positions) return nullptr;
    return make_lookup(pages_, *found, *positions);
  }

 private:
  // Returns a table of the schema that the transaction sees, valid until the schema changes; null
  // if Table::read returns nullopt.
  const Table* find(std::string_view name) {
    if (schema_of_tables_ != schema_version()) tables_.clear();
    schema_of_tables_ = schema_version();
    auto found = tables_.find(name);
    if (found == tables_.end()) {
      found = tables_.emplace(std::string(name), Table::read(connection_, name)).first;
    }
    return found->second ? &*found->second : nullptr;
  }

  static std::optional<std::vector<std::size_t>> positions_of(const Table* table, Columns columns) {
    if (table == nullptr) return std::nullopt;
    std::vector<std::size_t> positions;
    for (const std::string_view column : columns) {
      const auto position = column.empty() ? std::optional(always_null) : table->find(column);
      if (!position) return std::nullopt;
      positions.push_back(*position);
    }
    return positions;
  }

  sqlite3* connection_;
  Pages pages_;
  std::map<std::string, std::optional<Table>, std::less<>> tables_;
  std::uint32_t schema_of_tables_ = 0;
};

}  // namespace

std::unique_ptr<Snapshot> Snapshot::make(sqlite3* connection) {
  return std::make_unique<PagesSnapshot>(connection);
}

}  // namespace sqlite_format
