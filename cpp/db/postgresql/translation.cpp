#include "db/postgresql/translation.hpp"

#include <algorithm>
#include <array>

namespace comptroller::db::postgresql {

namespace {

constexpr std::string_view indexed_by = " INDEXED BY ";
constexpr std::string_view not_indexed = " NOT INDEXED";

bool is_word(char character) {
  return (character >= '0' && character <= '9') || (character >= 'a' && character <= 'z') ||
         (character >= 'A' && character <= 'Z') || character == '_';
}

// Returns the number of word characters with which a text begins.
std::size_t word_length(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::find_if_not(text, &is_word) - text.begin());
}

// Returns the length of the text in quotes with which `sql` begins.
std::size_t quoted_length(std::string_view sql) {
  const std::size_t end = sql.find('\'', 1);
  return end == std::string_view::npos ? sql.size() : end + 1;
}

}  // namespace

int Translation::number_of(std::string_view name) const {
  const auto found = std::ranges::find(names, name);
  return found == names.end() ? 0 : static_cast<int>(found - names.begin()) + 1;
}

Translation translate(std::string_view sql) {
  Translation made;
  const auto add_parameter = [&](std::size_t number, std::string_view name) {
    if (made.names.size() < number) made.names.resize(number);
    if (!name.empty()) made.names[number - 1] = name;
    made.sql += '$' + std::to_string(number);
  };
  while (!sql.empty()) {
    std::size_t length = 1;
    if (sql.front() == '\'') {
      length = quoted_length(sql);
      made.sql += sql.substr(0, length);
    } else if (sql.front() == '?') {
      const std::string digits(sql.substr(1, word_length(sql.substr(1))));
      length += digits.size();
      add_parameter(digits.empty() ? made.names.size() + 1 : std::stoul(digits), {});
    } else if (sql.front() == '$') {
      length += word_length(sql.substr(1));
      const std::string_view name = sql.substr(0, length);
      const int known = made.number_of(name);
      add_parameter(known > 0 ? static_cast<std::size_t>(known) : made.names.size() + 1, name);
    } else if (sql.starts_with(indexed_by)) {
      length = indexed_by.size() + word_length(sql.substr(indexed_by.size()));
    } else if (sql.starts_with(not_indexed)) {
      length = not_indexed.size();
    } else {
      made.sql += sql.front();
    }
    sql.remove_prefix(length);
  }
  return made;
}

}  // namespace comptroller::db::postgresql
