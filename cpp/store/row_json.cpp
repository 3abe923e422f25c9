#include "store/row_json.hpp"

#include "model/hexadecimal.hpp"

namespace comptroller::store {

namespace {

constexpr std::size_t usual_growth = 2048;

// Room is made for it already.
char* write_prefixed(char* at, std::string_view bytes) {
  std::ranges::copy(std::string_view("\"0x"), at);
  write_hexadecimal(bytes.data(), bytes.size(), at + 3);
  at += 3 + 2 * bytes.size();
  *at = '"';
  return at + 1;
}

}  // namespace

void Tail::grow(std::size_t most) {
  const auto used = static_cast<std::size_t>(at_ - out_.data());
  out_.resize(used + std::max(most, usual_growth));
  at_ = out_.data() + used;
  end_ = out_.data() + out_.size();
}

void put_identifier(Tail& out, const Value& value) {
  if (value.kind != Value::Kind::blob) return out.put_string(value.bytes);
  char* at = out.room(uuid_length + 2);
  *at = '"';
  format_uuid(packed(value, packed_uuid_length).data(), at + 1);
  at[uuid_length + 1] = '"';
  out.at(at + uuid_length + 2);
}

void put_hash(Tail& out, const Value& value) {
  if (value.kind != Value::Kind::blob) return out.put_string(value.bytes);
  const std::string_view bytes = packed(value, TransactionHash::packed_length);
  out.at(write_prefixed(out.room(2 * bytes.size() + 4), bytes));
}

void put_addresses(Tail& out, const Value& value) {
  if (value.kind != Value::Kind::blob) return put_document(out, value, '[', ']');
  const std::string_view bytes = packed_addresses(value);
  const std::size_t count = bytes.size() / packed_address_length;
  char* at = out.room(count * (unpacked_address_length + 3) + 2);
  *at++ = '[';
  for (std::size_t index = 0; index < count; ++index) {
    if (index > 0) *at++ = ',';
    at = write_prefixed(at,
                        value.bytes.substr(index * packed_address_length, packed_address_length));
  }
  *at++ = ']';
  out.at(at);
}

void put_document(Tail& out, const Value& value, char first, char last) {
  const std::string_view text = value.bytes;
  if (text.size() < 2 || text.front() != first || text.back() != last) {
    throw Error::damaged("a document is cut off");
  }
  out.put(text);
}

}  // namespace comptroller::store
