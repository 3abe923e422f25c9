#include "service/cursor.hpp"

#include <doctest/doctest.h>

#include "service/world.hpp"

namespace comptroller::service {
namespace {

Secret secret_of(unsigned char byte) {
  Secret secret{};
  secret.fill(byte);
  return secret;
}

const Secret secret = secret_of(7);

std::string open_code(std::string_view list, std::string_view cursor, const Secret& with = secret) {
  return refusal_of([&] { open_cursor(with, list, cursor); }).code;
}

TEST_CASE("a cursor gives back its position, whatever that is") {
  for (const store::Position& position :
       {store::Position{0, 0}, store::Position{1'700'000'000'000'000, 42},
        store::Position{earliest_timestamp.microseconds, std::numeric_limits<std::int64_t>::max()},
        store::Position{latest_timestamp.microseconds, 1}}) {
    const auto opened = open_cursor(secret, "list", seal_cursor(secret, "list", position));
    REQUIRE(opened.has_value());
    CHECK(opened->created_at == position.created_at);
    CHECK(opened->key == position.key);
  }
  CHECK_FALSE(open_cursor(secret, "list", "").has_value());
}

TEST_CASE("a cursor with any bit changed is none") {
  const std::string cursor = seal_cursor(secret, "list", {1'700'000'000'000'000, 42});
  for (std::size_t bit = 0; bit < cursor.size() * 8; ++bit) {
    std::string changed = cursor;
    changed[bit / 8] =
        static_cast<char>(static_cast<unsigned char>(changed[bit / 8]) ^ (1U << (bit % 8)));
    CAPTURE(bit);
    CHECK(open_code("list", changed) == "invalid-cursor");
  }
}

TEST_CASE("a cursor cut short, continued or made up is none") {
  const std::string cursor = seal_cursor(secret, "list", {1, 2});
  for (std::size_t length = 1; length < cursor.size(); ++length) {
    CHECK(open_code("list", cursor.substr(0, length)) == "invalid-cursor");
  }
  for (const char* more : {"A", "=", "AAAA", " ", "\n"}) {
    CHECK(open_code("list", cursor + more) == "invalid-cursor");
  }
  CHECK(open_code("list", std::string(44, 'A')) == "invalid-cursor");
  CHECK(open_code("list", std::string(4096, 'A')) == "invalid-cursor");
  CHECK(open_code("list", std::string(1, '\0')) == "invalid-cursor");
}

TEST_CASE("a cursor belongs to its list and its store") {
  const std::string cursor = seal_cursor(secret, "list", {1, 2});
  CHECK(open_code("list ", cursor) == "invalid-cursor");
  CHECK(open_code("", cursor) == "invalid-cursor");
  CHECK(open_code("list", cursor, secret_of(8)) == "invalid-cursor");
}

struct Pages {
  World world;
  std::string cursor;

  Pages() {
    for (const char* id : {"i1", "i2", "i3", "i4"}) {
      world.put_identity(id, "acme");
      world.create_control(world.acme, id, "CLOSED");
      world.create_control(world.provider, id, "CLOSED");
    }
    world.put_identity("z1", "zenith");
    cursor = world.call(world.acme, "identities.list", {{"limit", "2"}}).at("/next_page_cursor");
  }
  std::string code(const Principal& who, const std::string& list, Parameters parameters) {
    parameters.push_back({"page_cursor", cursor});
    return world.code(who, list, std::move(parameters));
  }
};

TEST_CASE_FIXTURE(Pages, "a cursor goes on only in the list that gave it") {
  REQUIRE_FALSE(cursor.empty());
  CHECK(code(world.acme, "identities.list", {}).empty());
  CHECK(code(world.acme, "identities.list", {{"limit", "1"}}).empty());  // the size may change
  CHECK(code(world.acme, "identities.list", {{"order", "ASC"}}) == "invalid-cursor");
  CHECK(code(world.acme, "identities.list", {{"ref_id", "r"}}) == "invalid-cursor");
  CHECK(code(world.acme, "identities.list", {{"control_types", "CLOSED"}}) == "invalid-cursor");
  CHECK(code(world.acme, "identities.list", {{"created_at.gt", "2020-01-01T00:00:00Z"}}) ==
        "invalid-cursor");
  CHECK(code(world.acme, "controls.list", {}) == "invalid-cursor");
  CHECK(code(world.zenith, "identities.list", {}) == "invalid-cursor");
  CHECK(code(world.provider, "identities.list", {}) == "invalid-cursor");
  CHECK(code(world.provider, "identities.list", {{"customer_id", "acme"}}) == "invalid-cursor");
}

TEST_CASE_FIXTURE(Pages, "every changed bit of a cursor is refused by the list") {
  const std::string whole = cursor;
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    cursor = whole;
    cursor[bit / 8] =
        static_cast<char>(static_cast<unsigned char>(cursor[bit / 8]) ^ (1U << (bit % 8)));
    CAPTURE(bit);
    CHECK(code(world.acme, "identities.list", {}) == "invalid-cursor");
  }
}

TEST_CASE_FIXTURE(Pages, "an empty cursor is the first page, and the last page has an empty one") {
  const Json first =
      world.call(world.acme, "identities.list", {{"limit", "4"}, {"page_cursor", ""}});
  CHECK(first.each("/items", "id") == std::vector<std::string>{"i4", "i3", "i2", "i1"});
  CHECK(first.at("/next_page_cursor").empty());
}

TEST_CASE_FIXTURE(Pages, "values of filters that only look alike are told apart") {
  cursor = world.call(world.acme, "controls.list", {{"type", "CLOSED"}, {"limit", "1"}})
               .at("/next_page_cursor");
  REQUIRE_FALSE(cursor.empty());
  CHECK(code(world.acme, "controls.list", {{"type", "CLOSED"}}).empty());
  CHECK(code(world.acme, "controls.list", {{"reason_code", "CLOSED"}}) == "invalid-cursor");
  CHECK(code(world.acme, "controls.list", {{"type", "CLOSED"}, {"type", "FROZEN"}}) ==
        "invalid-cursor");
}

}  // namespace
}  // namespace comptroller::service
