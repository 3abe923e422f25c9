#include "db/postgresql/translation.hpp"

#include <doctest/doctest.h>

namespace comptroller::db::postgresql {
namespace {

struct Case {
  std::string_view sql;
  std::string_view translated;
  std::size_t parameters;
};

constexpr Case cases[]{
    {"SELECT 1", "SELECT 1", 0},
    {"a = ? AND b = ?", "a = $1 AND b = $2", 2},
    {"a = ?2 AND b = ?1 AND c = ?2", "a = $2 AND b = $1 AND c = $2", 2},
    {"a = ?3 AND b = ?", "a = $3 AND b = $4", 4},
    {"a = $name AND b = ? AND c = $name", "a = $1 AND b = $2 AND c = $1", 2},
    {"a = $of AND b = $of_all", "a = $1 AND b = $2", 2},
    {"a = '?' AND b = 'it''s $x' AND c = ?", "a = '?' AND b = 'it''s $x' AND c = $1", 1},
    {"FROM journal INDEXED BY journal_of_batches WHERE key = ?", "FROM journal WHERE key = $1", 1},
    {"FROM journal NOT INDEXED WHERE TRUE", "FROM journal WHERE TRUE", 0},
    {"'x INDEXED BY y'", "'x INDEXED BY y'", 0},
};

TEST_CASE("a statement is translated once for all its parameters") {
  for (const Case& each : cases) {
    CAPTURE(each.sql);
    const Translation made = translate(each.sql);
    CHECK(made.sql == each.translated);
    CHECK(made.names.size() == each.parameters);
  }
}

TEST_CASE("a parameter is found by its name as written") {
  const Translation made = translate("a = ? AND b = $b AND c = $c AND d = $b");
  CHECK(made.number_of("$b") == 2);
  CHECK(made.number_of("$c") == 3);
  CHECK(made.number_of("$d") == 0);
}

}  // namespace
}  // namespace comptroller::db::postgresql
