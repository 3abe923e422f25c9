// Bulk writes, in the database itself or in a private copy of it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "db/database.hpp"
#include "db/sqlite/private_copy.hpp"
#include "db/sqlite/writer.hpp"

namespace comptroller::db::sqlite {

// What a bulk write works with; all must outlive it.
struct WriteParts {
  Writer& writer;
  SqliteConnection& connection;  // of the writer
  const OpenFile& file;
  const Interrupt& interrupt;
};

class SqliteFill final : public Fill {
 public:
  // `is_only_sql`: never uses a private copy.
  SqliteFill(const WriteParts& parts, const Filling& filling, bool is_only_sql)
      : parts_(parts), filling_(filling), is_only_sql_(is_only_sql) {}

  // Other writers wait for 2.0 s during a load of 1,000,000 claims; without `begin` they wait for
  // the 5.0 s of the whole load (medians of five). It does not change the load's time.
  Connection* begin() override;
  bool write(const Work& work) override;
  void finish() override;

 private:
  std::unique_ptr<PrivateCopy> make_copy();
  void write_in_copy(const Work& work, Connection* before);
  void drop_indexes();
  void make_indexes();

  WriteParts parts_;
  Filling filling_;
  bool is_only_sql_;
  std::optional<Writing> writing_;  // from `begin` on
  std::unique_ptr<PrivateCopy> copy_;
  std::string dropped_indexes_;  // statements that create them again
};

}  // namespace comptroller::db::sqlite
