#include "model/shorten.hpp"

namespace comptroller {

namespace {

bool is_inside_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80;
}

}  // namespace

std::string shorten(std::string_view text) {
  if (text.size() <= longest_repeated) return std::string(text);
  std::size_t size = longest_repeated;
  while (size > 0 && is_inside_character(text[size])) --size;
  return std::string(text.substr(0, size)) + "...";
}

}  // namespace comptroller
