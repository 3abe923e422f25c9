#include "arrow/columns.hpp"

#include "model/hexadecimal.hpp"

namespace comptroller::arrow {

namespace {

// "0x" and two digits a byte.
void append_hexadecimal(Builder& builder, std::string_view bytes) {
  char* const at = builder.extend_text(2 + 2 * bytes.size());
  at[0] = '0';
  at[1] = 'x';
  write_hexadecimal(bytes.data(), bytes.size(), at + 2);
}

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
    builder.append_text(rest.substr(0, end));
    rest.remove_prefix(end + between.size());
  }
  builder.append_text(rest);
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

void append_identifier(Builder& builder, const db::Value& value) {
  if (value.kind != db::Value::Kind::blob) return builder.append_text(value.bytes);
  format_uuid(store::packed(value, packed_uuid_length).data(), builder.extend_text(uuid_length));
}

void append_hash(Builder& builder, const db::Value& value) {
  if (value.kind != db::Value::Kind::blob) return builder.append_text(value.bytes);
  append_hexadecimal(builder, store::packed(value, TransactionHash::packed_length));
}

void append_addresses(Builder& builder, const db::Value& value) {
  std::string_view bytes = value.bytes;
  Builder& addresses = builder.elements();
  if (value.kind == db::Value::Kind::blob) {
    bytes = store::packed_addresses(value);
    for (std::size_t at = 0; at < bytes.size(); at += packed_address_length) {
      append_hexadecimal(addresses, bytes.substr(at, packed_address_length));
    }
  } else if (is_plain(bytes)) {
    append_plain_strings(addresses, bytes);
  } else {
    for (const Label& address : json::read_stored_addresses(bytes)) {
      addresses.append_text(address.value);
    }
  }
  builder.end_list();
}

}  // namespace comptroller::arrow
