#include "model/fields.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace comptroller {
namespace {

struct Base {
  RECORD(Base, "What it is.");
  FIELD(int, first, "the first");
  FIELD(std::string, second,
        "the second, whose line"
        " is long");
};

struct Middle {
  RECORD(Middle);
  FIELD(bool, flag, "a flag", Nullable, Named<"other.flag">);
};

struct Joined : Base, Middle {
  RECORD(Joined);
  FIELD(int, own);
  int hidden = 7;
  FIELDS_OF(Base, Middle);
  BASE_FIELD(first, "the same again", Derived);
  FIELD(int, last);
};

template <Record R>
std::vector<std::string> described() {
  std::vector<std::string> lines;
  for_each_field<R>([&]<class F>() {
    lines.push_back(std::string(F::name) + ": " + std::string(F::doc) +
                    (shows_null<F> ? ", nullable" : "") +
                    (requires { F::is_derived; } ? ", derived" : ""));
  });
  return lines;
}

TEST_CASE("fields are in the order of their lines, those of bases at the place that names them") {
  CHECK(described<Base>() ==
        std::vector<std::string>{"first: the first", "second: the second, whose line is long"});
  CHECK(described<Joined>() ==
        std::vector<std::string>{
            "own: ", "first: the first", "second: the second, whose line is long",
            "other.flag: a flag, nullable", "first: the same again, derived", "last: "});
  CHECK(field_count<Joined> == 6);
  CHECK(Base::meaning == "What it is.");
  CHECK(Joined::meaning.empty());
}

TEST_CASE("a member without a value is zero, and a record remains an aggregate") {
  CHECK(Joined{}.own == 0);
  CHECK(Joined{}.hidden == 7);
  CHECK(Base{1, "two"}.second == "two");
}

}  // namespace
}  // namespace comptroller
