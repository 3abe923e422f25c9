#include "arrow/columns.hpp"

namespace comptroller::arrow {

namespace {

bool is_plain(std::string_view array) {
  return array.size() >= std::string_view(R"([""])").size() && array.starts_with("[\"") &&
         array.ends_with("\"]") && array.find('\\') == std::string_view::npos;
}

// Appends the strings of a compact JSON array without escapes: no string holds a quote then.
void append_plain_strings(Builder& builder, std::string_view array) {
  constexpr std::string_view between = "\",\"";
  std::string_view rest = array.substr(2, array.size() - 4);
  for (std::size_t end = rest.find(between); end != std::string_view::npos;
       end = rest.find(between)) {
    append_stored_text(builder, rest.substr(0, end));
    rest.remove_prefix(end + between.size());
  }
  append_stored_text(builder, rest);
}

}  // namespace

void append_metadata(Builder& builder, const Metadata& metadata) {
  Builder& pairs = builder.elements();
  for (const auto& [key, value] : metadata.pairs) {
    pairs.child(0).append_text(key);
    pairs.child(1).append_text(value);
    pairs.end_record();
  }
  builder.end_list();
}

void append_addresses(Builder& builder, const store::PackedAddresses& packed) {
  Builder& addresses = builder.elements();
  for (std::size_t index = 0; index < packed.count(); ++index) {
    const store::PackedHexadecimal address = packed[index];
    addresses.append_text(address.size(), [&](char* at) { address.write(at); });
  }
  builder.end_list();
}

void append_addresses(Builder& builder, const store::JsonText& array) {
  Builder& addresses = builder.elements();
  if (is_plain(array.text)) {
    append_plain_strings(addresses, array.text);
  } else {
    for (const Label& address : json::read_stored_addresses(array.text)) {
      addresses.append_text(address.value);
    }
  }
  builder.end_list();
}

}  // namespace comptroller::arrow
