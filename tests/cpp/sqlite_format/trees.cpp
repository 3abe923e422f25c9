// SQLite reads the b-trees that TreeWriter writes.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "sqlite_format/files.hpp"
#include "sqlite_format/src/descriptor.hpp"
#include "sqlite_format/src/key_sorter.hpp"
#include "sqlite_format/src/record.hpp"
#include "sqlite_format/src/tree_writer.hpp"

namespace sqlite_format {
namespace {

std::string key_of(const Value& value) {
  std::string key(max_key_size(value), '\0');
  key.resize(static_cast<std::size_t>(put_key(key.data(), value) - key.data()));
  return key;
}

// A row of the table. Its key is its position, from 1.
struct Row {
  std::string text;
  bool is_blob = false;
  std::int64_t integer = 0;

  Value value() const { return is_blob ? Value::blob(text) : Value::of(std::string_view(text)); }
};

// Writes a table with an index on (b, a) into a file that SQLite created, and compares the rows.
void check_tables(const std::vector<Row>& rows) {
  CAPTURE(rows.size());
  const Folder folder;
  const std::string path = folder / "trees.db";
  PageNumber table_root = 0;
  PageNumber index_root = 0;
  {
    const Connection made(path);
    made.execute("CREATE TABLE t (key INTEGER PRIMARY KEY, a, b); CREATE INDEX i ON t (b, a)");
    table_root = static_cast<PageNumber>(made.number("SELECT rootpage FROM sqlite_schema"));
    index_root = static_cast<PageNumber>(
        made.number("SELECT rootpage FROM sqlite_schema WHERE type = 'index'"));
  }
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  NewPages new_pages(descriptor);
  PageAppender pages(new_pages);
  TreeWriter table(TreeWriter::Kind::table, pages);
  KeySorter sorter([&] { return folder.make_file(); });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Value values[] = {Value{}, rows[i].value(), Value::of(rows[i].integer)};
    std::string record;
    append_record(record, values);
    table.add_row(static_cast<std::int64_t>(i) + 1, record);
    sorter.add(key_of(values[2]) + key_of(values[1]) +
               key_of(Value::of(static_cast<std::int64_t>(i) + 1)));
  }
  if (!rows.empty()) table.finish(table_root);
  PageAppender index_pages(new_pages);
  TreeWriter index(TreeWriter::Kind::index, index_pages);
  KeyReader reader;
  sorter.visit_sorted([&](std::string_view key) {
    std::string record;
    append_record(record, reader.read(key));
    index.add_entry(record);
  });
  if (!rows.empty()) index.finish(index_root);
  pages.finish();
  index_pages.finish();
  new_pages.finish();
  ::close(descriptor);

  const Connection connection(path);
  CHECK(connection.text("PRAGMA integrity_check") == "ok");
  CHECK(connection.number("SELECT count(*) FROM t NOT INDEXED") == std::ssize(rows));
  CHECK(connection.number("SELECT count(*) FROM t INDEXED BY i") == std::ssize(rows));
  {
    Sql query(connection.handle(), "SELECT a, b FROM t NOT INDEXED ORDER BY key");
    for (const Row& row : rows) {
      REQUIRE(query.step());
      CHECK(query.value(0) == row.value());
      CHECK(query.number(1) == row.integer);
    }
  }
  // SQLite can change the table like others.
  connection.execute("DELETE FROM t WHERE key % 3 = 0; UPDATE t SET b = b + 1 WHERE key % 2");
  CHECK(connection.text("PRAGMA integrity_check") == "ok");
}

TEST_CASE("trees of any number of rows are sound") {
  std::mt19937 random(7);  // NOLINT(bugprone-random-generator-seed,cert-msc51-cpp): repeatable
  for (const std::size_t count : {0U, 1U, 2U, 60U, 61U, 70U, 400U, 401U, 20'000U, 70'000U}) {
    std::vector<Row> rows(count);
    for (Row& row : rows) {
      row.text.assign(random() % 40, static_cast<char>('a' + random() % 3));
      row.is_blob = random() % 2 == 0;
      row.integer = static_cast<std::int64_t>(random() % 100) - 50;
    }
    check_tables(rows);
  }
}

TEST_CASE("the last leaf of an index has an entry for any number of rows") {
  for (std::size_t count = 300; count < 700; count += 7) {
    std::vector<Row> rows(count, Row{"same", false, 0});
    check_tables(rows);
  }
}

TEST_CASE("records of any size are sound") {
  std::mt19937 random(8);  // NOLINT(bugprone-random-generator-seed,cert-msc51-cpp): repeatable
  std::vector<Row> rows;
  for (const std::size_t middle : {0U, 490U, 1002U, 4061U, 4092U, 8184U, 70'000U, 1'048'576U}) {
    for (std::size_t size = middle < 20 ? 0 : middle - 20; size < middle + 20; ++size) {
      if (middle > 10'000 && size % 10 != 0) continue;
      Row row{std::string(size, 'x'), random() % 2 == 0, static_cast<std::int64_t>(random()) - 5};
      for (std::size_t i = 0; i < size; i += 1 + random() % 50) {
        row.text[i] = row.is_blob ? static_cast<char>(random()) : static_cast<char>('a' + i % 26);
      }
      rows.push_back(std::move(row));
    }
  }
  std::ranges::shuffle(rows, random);
  check_tables(rows);
}

TEST_CASE("integers of any size are stored and ordered as by SQLite") {
  std::vector<Row> rows;
  for (unsigned shift = 0; shift < 64; ++shift) {
    const std::uint64_t power = std::uint64_t{1} << shift;
    for (const std::uint64_t number :
         {power - 1, power, power + 1, ~power, ~power + 1, 0 - power}) {
      rows.push_back({"", false, static_cast<std::int64_t>(number)});
    }
  }
  check_tables(rows);
}

TEST_CASE("pages are allocated once, without the page used for locks") {
  constexpr PageNumber lock_page = (1U << 30U) / page_size + 1;
  const Folder folder;
  const int descriptor = ::open((folder / "header").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  for (PageNumber last = lock_page - 130; last <= lock_page; ++last) {
    std::string header(file_header_size, '\0');
    write_number(header.data() + page_count_at, last, sizeof last);
    write_at(descriptor, header, 0);
    NewPages pages(descriptor);
    PageNumber behind = last;
    for (int i = 0; i < 5; ++i) {
      const PageRange range = pages.take();
      CHECK(range.begin > behind);
      CHECK(range.end > range.begin);
      CHECK_FALSE((range.begin <= lock_page && lock_page < range.end));
      behind = range.end - 1;
    }
  }
  ::close(descriptor);
}

TEST_CASE("keys sort like the values of an index, even if they do not fit into memory") {
  const Folder folder;
  std::mt19937 random(9);  // NOLINT(bugprone-random-generator-seed,cert-msc51-cpp): repeatable
  std::vector<std::string> keys;
  KeySorter sorter([&] { return folder.make_file(); });
  for (std::size_t i = 0; i < 400'000; ++i) {
    std::string text(random() % 60, '\0');
    for (char& byte : text) byte = static_cast<char>(random() % 3);
    std::string key =
        key_of(random() % 2 == 0 ? Value::blob(text) : Value::of(std::string_view(text)));
    sorter.add(key);
    keys.push_back(std::move(key));
  }
  std::ranges::sort(keys);
  std::size_t at = 0;
  bool is_equal = true;
  sorter.visit_sorted([&](std::string_view key) { is_equal &= key == keys[at++]; });
  CHECK(is_equal);
  CHECK(at == keys.size());
  CHECK(folder.is_empty());
}

}  // namespace
}  // namespace sqlite_format
