#include "sqlite_format/src/record.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace sqlite_format {

namespace {

constexpr std::size_t max_columns = 64;

// The first byte of a value in a key. An integer of n bytes has 0x20 + n, a negative integer 0x1F -
// n.
constexpr unsigned char null_tag = 0x01;
constexpr unsigned char integer_tag = 0x20;
constexpr unsigned char text_tag = 0x40;
constexpr unsigned char blob_tag = 0x50;

// Bytes end with two zeros; a zero byte inside them is followed by 0xFF.
constexpr std::string_view end_of_bytes{"\0\0", 2};
constexpr std::string_view escaped_zero{"\0\xFF", 2};

struct Serial {
  std::uint64_t type = 0;
  std::size_t size = 0;
};

Serial serial_of(std::int64_t number) {
  if (number == 0 || number == 1) return {8 + static_cast<std::uint64_t>(number), 0};
  const auto magnitude = static_cast<std::uint64_t>(number < 0 ? ~number : number);
  const auto bytes =
      static_cast<std::size_t>(std::bit_width(magnitude)) / 8 + 1;  // including the sign
  if (bytes <= 4) return {bytes, bytes};
  return bytes <= 6 ? Serial{5, 6} : Serial{6, 8};
}

Serial serial_of(const Value& value) {
  switch (value.type) {
    case Value::Type::integer:
      return serial_of(value.integer);
    case Value::Type::text:
      return {2 * value.bytes.size() + 13, value.bytes.size()};
    case Value::Type::blob:
      return {2 * value.bytes.size() + 12, value.bytes.size()};
    default:
      return {};
  }
}

}  // namespace

void append_record(std::string& out, std::span<const Value> values) {
  // NOLINTBEGIN(cppcoreguidelines-pro-type-member-init): filled before they are read
  std::array<std::size_t, max_columns> sizes;
  std::array<char, max_columns * max_written_varint> types;
  // NOLINTEND(cppcoreguidelines-pro-type-member-init)
  if (values.size() > sizes.size()) throw Failure(SQLITE_INTERNAL, "a row has too many columns");
  char* types_end = types.data();
  std::size_t body = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Serial serial = serial_of(values[i]);
    types_end = put_varint(types_end, serial.type);
    sizes[i] = serial.size;
    body += serial.size;
  }
  // The header's size includes the bytes of the size itself.
  auto header = static_cast<std::size_t>(types_end - types.data());
  header += varint_length(header + 1) == 1 ? 1 : varint_length(header + 2);
  const std::size_t begin = out.size();
  out.resize(begin + header + body);
  std::copy(types.data(), types_end, put_varint(out.data() + begin, header));
  char* data = out.data() + begin + header;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t size = sizes[i];
    if (values[i].type == Value::Type::integer) {
      write_number(data, static_cast<std::uint64_t>(values[i].integer), size);
    } else if (size > 0) {
      std::memcpy(data, values[i].bytes.data(), size);
    }
    data += size;
  }
}

char* put_key(char* out, const Value& value) {
  if (value.type == Value::Type::null) {
    *out++ = static_cast<char>(null_tag);
    return out;
  }
  if (value.type == Value::Type::integer) {
    const bool is_negative = value.integer < 0;
    const auto magnitude = static_cast<std::uint64_t>(is_negative ? ~value.integer : value.integer);
    const std::size_t size = (static_cast<std::size_t>(std::bit_width(magnitude)) + 7) / 8;
    *out++ = static_cast<char>(is_negative ? integer_tag - 1 - size : integer_tag + size);
    const std::uint64_t bits = is_negative ? ~magnitude : magnitude;
    const std::uint64_t first = size == 0 ? 0 : big_endian(bits << (64 - 8 * size));
    std::memcpy(out, &first, sizeof first);
    return out + size;
  }
  *out++ = static_cast<char>(value.type == Value::Type::text ? text_tag : blob_tag);
  const auto put = [&](std::string_view bytes) { out += bytes.copy(out, bytes.size()); };
  std::string_view bytes = value.bytes;
  for (std::size_t zero = bytes.find('\0'); zero != std::string_view::npos;
       zero = bytes.find('\0')) {
    put(bytes.substr(0, zero));
    put(escaped_zero);
    bytes.remove_prefix(zero + 1);
  }
  put(bytes);
  put(end_of_bytes);
  return out;
}

std::span<const Value> KeyReader::read(std::string_view key) {
  values_.clear();
  unescaped_.clear();
  unescaped_.reserve(key.size());  // so that views of it remain valid
  const char* at = key.data();
  const char* const end = at + key.size();
  while (at != end) {
    const auto tag = static_cast<unsigned char>(*at++);
    if (tag == null_tag) {
      values_.emplace_back();
    } else if (tag == text_tag) {
      values_.push_back(Value::of(read_bytes(at, end)));
    } else if (tag == blob_tag) {
      values_.push_back(Value::blob(read_bytes(at, end)));
    } else {
      const bool is_negative = tag < integer_tag;
      const int size = is_negative ? integer_tag - 1 - tag : tag - integer_tag;
      std::uint64_t bits = is_negative ? ~std::uint64_t{0} : 0;
      for (int i = 0; i < size; ++i) bits = bits << 8U | static_cast<unsigned char>(*at++);
      values_.push_back(Value::of(static_cast<std::int64_t>(bits)));
    }
  }
  return values_;
}

std::string_view KeyReader::read_bytes(const char*& at, const char* end) {
  const std::string_view rest(at, static_cast<std::size_t>(end - at));
  std::size_t zero = rest.find('\0');
  if (rest[zero + 1] == '\0') {
    at += zero + 2;
    return rest.substr(0, zero);
  }
  const std::size_t begin = unescaped_.size();
  std::size_t from = 0;
  for (; rest[zero + 1] != '\0'; zero = rest.find('\0', from)) {
    unescaped_.append(rest.substr(from, zero + 1 - from));
    from = zero + 2;
  }
  unescaped_.append(rest.substr(from, zero - from));
  at += zero + 2;
  return std::string_view(unescaped_).substr(begin);
}

}  // namespace sqlite_format
