#include "service/cursor.hpp"

#include <doctest/doctest.h>
#include <sodium.h>

#include "service/service_fixture.hpp"

namespace comptroller::service {
namespace {

CursorKeys keys_of(unsigned char byte) {
  Secret secret{};
  secret.fill(byte);
  return CursorKeys(secret);
}

const CursorKeys keys = keys_of(7);

std::string open_code(std::string_view list, std::string_view cursor,
                      const CursorKeys& with = keys) {
  return refusal_of([&] { open_cursor(with, list, cursor); }).code;
}

TEST_CASE("opening a sealed cursor returns its position") {
  for (const store::Position& position :
       {store::Position{0, 0}, store::Position{1'700'000'000'000'000, 42},
        store::Position{earliest_timestamp.microseconds, std::numeric_limits<std::int64_t>::max()},
        store::Position{latest_timestamp.microseconds, 1}}) {
    const auto opened = open_cursor(keys, "list", seal_cursor(keys, "list", position));
    REQUIRE(opened.has_value());
    CHECK(opened->created_at == position.created_at);
    CHECK(opened->key == position.key);
  }
  CHECK_FALSE(open_cursor(keys, "list", "").has_value());
}

TEST_CASE("a cursor with any changed bit is invalid") {
  const store::Position position{1'700'000'000'000'000, 42};
  std::string cursor;
  SUBCASE("of a list") {
    cursor = seal_cursor(keys, "list", position);
  }
  SUBCASE("of a feed") {
    cursor = seal_unlinkable_cursor(keys, "list", position);
  }
  for (std::size_t bit = 0; bit < cursor.size() * 8; ++bit) {
    std::string changed = cursor;
    changed[bit / 8] =
        static_cast<char>(static_cast<unsigned char>(changed[bit / 8]) ^ (1U << (bit % 8)));
    CAPTURE(bit);
    CHECK(open_code("list", changed) == "invalid-cursor");
  }
}

std::string bytes_of(const std::string& cursor) {
  std::string bytes(cursor.size(), '\0');
  std::size_t size = 0;
  REQUIRE(sodium_base642bin(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(),
                            cursor.data(), cursor.size(), nullptr, &size, nullptr,
                            sodium_base64_VARIANT_URLSAFE_NO_PADDING) == 0);
  bytes.resize(size);
  return bytes;
}

TEST_CASE("a cursor shows nothing of its position") {
  // The number of records between two cursors would count those of other customers.
  for (std::int64_t key = 1; key < 200; ++key) {
    const std::string one = seal_cursor(keys, "list", {1'700'000'000'000'000, key});
    const std::string next = seal_cursor(keys, "list", {1'700'000'000'000'000, key + 1});
    CHECK(one == seal_cursor(keys, "list", {1'700'000'000'000'000, key}));
    CHECK(one.size() == next.size());
    const std::string first = bytes_of(one);
    const std::string second = bytes_of(next);
    std::size_t equal = 0;
    for (std::size_t i = 0; i < first.size(); ++i) equal += first[i] == second[i] ? 1 : 0;
    CHECK(equal <= 8);  // the version, and a few of 56 bytes by chance
  }
}

TEST_CASE("cursors of one position may be unlike each other") {
  const store::Position position{1'700'000'000'000'000, 42};
  const std::string one = seal_unlinkable_cursor(keys, "list", position);
  const std::string other = seal_unlinkable_cursor(keys, "list", position);
  CHECK(one != other);
  CHECK(one.size() == other.size());
  for (const std::string& cursor : {one, other}) {
    const auto opened = open_cursor(keys, "list", cursor);
    REQUIRE(opened.has_value());
    CHECK(opened->created_at == position.created_at);
    CHECK(opened->key == position.key);
    CHECK(open_code("other", cursor) == "invalid-cursor");
  }
}

TEST_CASE("a truncated, extended or forged cursor is invalid") {
  std::string cursor;
  SUBCASE("of a list") {
    cursor = seal_cursor(keys, "list", {1, 2});
  }
  SUBCASE("of a feed") {
    cursor = seal_unlinkable_cursor(keys, "list", {1, 2});
  }
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
  const std::string cursor = seal_cursor(keys, "list", {1, 2});
  CHECK(open_code("list ", cursor) == "invalid-cursor");
  CHECK(open_code("", cursor) == "invalid-cursor");
  CHECK(open_code("list", cursor, keys_of(8)) == "invalid-cursor");
}

struct Pages {
  ServiceFixture fixture;
  std::string cursor;

  Pages() {
    for (const char* id : {"i1", "i2", "i3", "i4"}) {
      fixture.put_identity(id, "acme");
      fixture.create_control(fixture.acme, id, "CLOSED");
      fixture.create_control(fixture.provider, id, "CLOSED");
    }
    fixture.put_identity("z1", "zenith");
    cursor =
        fixture.call(fixture.acme, "identities.list", {{"limit", "2"}}).at("/next_page_cursor");
  }
  std::string code(const Principal& principal, const std::string& list, Parameters parameters) {
    parameters.push_back({"page_cursor", cursor});
    return fixture.code(principal, list, std::move(parameters));
  }
};

TEST_CASE_FIXTURE(Pages, "a cursor continues only the list that returned it") {
  REQUIRE_FALSE(cursor.empty());
  CHECK(code(fixture.acme, "identities.list", {}).empty());
  CHECK(code(fixture.acme, "identities.list", {{"limit", "1"}}).empty());  // the size may change
  CHECK(code(fixture.acme, "identities.list", {{"order", "ASC"}}) == "invalid-cursor");
  CHECK(code(fixture.acme, "identities.list", {{"ref_id", "r"}}) == "invalid-cursor");
  CHECK(code(fixture.acme, "identities.list", {{"control_types", "CLOSED"}}) == "invalid-cursor");
  CHECK(code(fixture.acme, "identities.list", {{"created_at.gt", "2020-01-01T00:00:00Z"}}) ==
        "invalid-cursor");
  CHECK(code(fixture.acme, "controls.list", {}) == "invalid-cursor");
  CHECK(code(fixture.zenith, "identities.list", {}) == "invalid-cursor");
  CHECK(code(fixture.provider, "identities.list", {}) == "invalid-cursor");
  CHECK(code(fixture.provider, "identities.list", {{"customer_id", "acme"}}) == "invalid-cursor");
}

TEST_CASE_FIXTURE(Pages, "the list refuses a cursor with any changed bit") {
  const std::string whole = cursor;
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    cursor = whole;
    cursor[bit / 8] =
        static_cast<char>(static_cast<unsigned char>(cursor[bit / 8]) ^ (1U << (bit % 8)));
    CAPTURE(bit);
    CHECK(code(fixture.acme, "identities.list", {}) == "invalid-cursor");
  }
}

TEST_CASE_FIXTURE(Pages,
                  "an empty cursor is the first page, and the last page has an empty cursor") {
  const Json first =
      fixture.call(fixture.acme, "identities.list", {{"limit", "4"}, {"page_cursor", ""}});
  CHECK(first.each("/items", "id") == std::vector<std::string>{"i4", "i3", "i2", "i1"});
  CHECK(first.at("/next_page_cursor").empty());
}

TEST_CASE_FIXTURE(Pages, "different filters with similar texts are distinguished") {
  cursor = fixture.call(fixture.acme, "controls.list", {{"type", "CLOSED"}, {"limit", "1"}})
               .at("/next_page_cursor");
  REQUIRE_FALSE(cursor.empty());
  CHECK(code(fixture.acme, "controls.list", {{"type", "CLOSED"}}).empty());
  CHECK(code(fixture.acme, "controls.list", {{"reason_code", "CLOSED"}}) == "invalid-cursor");
  CHECK(code(fixture.acme, "controls.list", {{"type", "CLOSED"}, {"type", "FROZEN"}}) ==
        "invalid-cursor");
}

}  // namespace
}  // namespace comptroller::service
