// A statement of the driver that runs without SQL, and refuses the calls that it does not override.
#pragma once

#include <optional>
#include <string_view>

#include "db/database.hpp"
#include "model/error.hpp"

namespace comptroller::db::sqlite {

class PartialStatement : public Statement {
 public:
  void bind(int, const Value&) override { refuse(); }
  void bind(std::string_view, const Value&) override { refuse(); }
  bool step() override { refuse(); }
  std::int64_t run() override { refuse(); }
  std::optional<std::int64_t> insert() override { refuse(); }
  int column_count() const override { refuse(); }
  Value column(int) override { refuse(); }
  void reset() override { is_in_use_ = false; }

  void use() { is_in_use_ = true; }
  bool is_in_use() const { return is_in_use_; }

 private:
  [[noreturn]] static void refuse() { throw Error(Code::internal, "a statement without SQL"); }

  bool is_in_use_ = false;
};

}  // namespace comptroller::db::sqlite
