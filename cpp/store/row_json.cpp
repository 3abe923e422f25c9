#include "store/row_json.hpp"

namespace comptroller::store {

void append_identifier(std::string& out, const Value& value) {
  if (value.kind != Value::Kind::blob) {
    json::append_string(out, value.bytes);
    return;
  }
  std::array<char, uuid_length + 2> quoted{};
  quoted.front() = '"';
  format_uuid(value.bytes.data(), quoted.data() + 1);
  quoted.back() = '"';
  out.append(quoted.data(), quoted.size());
}

void append_hash(std::string& out, const Value& value) {
  if (value.kind != Value::Kind::blob) {
    json::append_string(out, value.bytes);
    return;
  }
  out += '"';
  out += TransactionHash::unpack(value.bytes);
  out += '"';
}

void append_addresses(std::string& out, const Value& value) {
  if (value.kind != Value::Kind::blob) {
    out += value.bytes;
    return;
  }
  out += '[';
  for (std::size_t at = 0; at < value.bytes.size(); at += packed_address_length) {
    if (at > 0) out += ',';
    out += '"';
    append_unpacked(value.bytes.substr(at, packed_address_length), out);
    out += '"';
  }
  out += ']';
}

}  // namespace comptroller::store
