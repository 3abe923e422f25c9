#include "arrow/columns.hpp"

namespace comptroller::arrow {

namespace {

constexpr std::string_view between = "\",\"";

bool is_plain(std::string_view array) {
  return array.size() >= std::string_view(R"([""])").size() && array.starts_with("[\"") &&
         array.ends_with("\"]") && array.find('\\') == std::string_view::npos;
}

}  // namespace

// A compact JSON array of strings without escapes is split in place: no string contains a quote.
void append(Builder& builder, const JsonText<Addresses>& addresses, Audience audience) {
  if (!is_plain(addresses.text)) {
    return append(builder, json::read_stored<Addresses>(addresses.text), audience);
  }
  std::string_view rest = addresses.text.substr(2, addresses.text.size() - 4);
  for (std::size_t end = rest.find(between); end != std::string_view::npos;
       end = rest.find(between)) {
    append(builder.elements(), rest.substr(0, end), audience);
    rest.remove_prefix(end + between.size());
  }
  append(builder.elements(), rest, audience);
  builder.end_list();
}

}  // namespace comptroller::arrow
