#include "http/fields.hpp"

#include <algorithm>

#include "model/ascii.hpp"

namespace comptroller::http {

namespace {

constexpr std::string_view white_space = " \t";
constexpr std::size_t separator_bytes = std::string_view(": \r\n").size();

std::string_view strip(std::string_view text) {
  const std::size_t first = text.find_first_not_of(white_space);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(white_space) - first + 1);
}

}  // namespace

void Fields::add(std::string_view name, std::string_view value) {
  bytes += name.size() + value.size() + separator_bytes;
  Header& added = headers.emplace_back(std::string(name), std::string(strip(value)));
  std::ranges::transform(added.name, added.name.begin(), to_lower);
}

}  // namespace comptroller::http
