#include "db/postgresql/typed_select.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <string_view>

#include "model/error.hpp"

namespace comptroller::db::postgresql {
namespace {

constexpr std::array<std::string_view, 2> statuses{"NEW", "OLD"};

const ReadableView table{"things",
                         {{"id", StorageClass::identifier, {}},
                          {"asset", StorageClass::symbol, {}},
                          {"status", StorageClass::code, statuses},
                          {"is_new", StorageClass::boolean, {}},
                          {"amount", StorageClass::amount, {}},
                          {"note", StorageClass::text, {}}}};

std::string selected(const std::string& column) {
  return typed_select(table, std::array{column}, "s");
}

TEST_CASE("a typed SELECT has the columns that are named") {
  CHECK(selected("note") == "SELECT t.note AS note FROM s.things AS t");
  CHECK(selected("amount") == "SELECT t.amount::numeric AS amount FROM s.things AS t");
  CHECK(selected("is_new") == "SELECT t.is_new <> 0 AS is_new FROM s.things AS t");
  CHECK(typed_select(table, {}, "s") == "SELECT  FROM s.things AS t");
}

TEST_CASE("a typed SELECT shows texts in place of codes and symbols") {
  CHECK(selected("status") ==
        "SELECT (ARRAY['NEW', 'OLD'])[t.status + 1] COLLATE \"C\" AS status FROM s.things AS t");
  CHECK(selected("asset") ==
        "SELECT \"t.asset\".text AS asset FROM s.things AS t"
        " LEFT JOIN s.symbols AS \"t.asset\" ON \"t.asset\".key = t.asset");
}

TEST_CASE("a typed SELECT refuses an unknown column") {
  CHECK_THROWS_AS(selected("nothing"), Error);
}

}  // namespace
}  // namespace comptroller::db::postgresql
