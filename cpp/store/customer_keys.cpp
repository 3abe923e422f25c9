#include "store/customer_keys.hpp"

#include <algorithm>

#include "model/error.hpp"

namespace comptroller::store {

namespace {

// Numbers of any size, seven bits in each byte, the lowest first.
void append_number(std::string& bytes, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) bytes += static_cast<char>(number | 0x80);
  bytes += static_cast<char>(number);
}

std::uint64_t take_number(std::string_view& bytes) {
  std::uint64_t number = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (bytes.empty()) break;
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    number |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return number;
  }
  throw Error::damaged("the keys of a batch of the journal are malformed");
}

}  // namespace

void CustomerKeys::add(std::string_view customer, std::int64_t key) {
  if (customer.empty()) return;
  auto found = customers_.find(customer);
  if (found == customers_.end()) found = customers_.emplace(customer, Runs{}).first;
  Runs& runs = found->second;
  if (key != runs.end) {
    close(runs);
    runs.begin = key;
  }
  runs.end = key + 1;
}

void CustomerKeys::close(Runs& runs) {
  if (runs.begin == runs.end) return;
  append_number(runs.earlier, static_cast<std::uint64_t>(runs.begin - runs.end_of_earlier));
  append_number(runs.earlier, static_cast<std::uint64_t>(runs.end - runs.begin));
  runs.end_of_earlier = runs.end;
}

std::map<std::string, std::string, std::less<>> CustomerKeys::encoded() const {
  std::map<std::string, std::string, std::less<>> all;
  for (const auto& [customer, open] : customers_) {
    Runs runs = open;
    close(runs);
    all.emplace(customer, std::move(runs.earlier));
  }
  return all;
}

std::optional<std::int64_t> KeyReader::first_from(std::int64_t key) {
  while (key >= end_) {
    if (rest_.empty()) return std::nullopt;
    begin_ = end_ + static_cast<std::int64_t>(take_number(rest_));
    end_ = begin_ + static_cast<std::int64_t>(take_number(rest_));
  }
  return std::max(key, begin_);
}

void BatchKeys::add(std::size_t part, const CustomerKeys& keys) {
  for (const auto& [customer, encoded] : keys.encoded()) {
    std::string& all = keys_[customer];
    append_number(all, part);
    append_number(all, encoded.size());
    all += encoded;
  }
}

void BatchKeys::save(db::Connection& connection, std::uint64_t sequence) const {
  for (const auto& [customer, encoded] : keys_) {
    connection.run("INSERT INTO journal_batch_keys (customer_id, sequence, keys) VALUES (?, ?, ?)",
                   connection.symbols().intern(customer), static_cast<std::int64_t>(sequence),
                   db::Value::blob(encoded));
  }
}

std::string_view keys_of_part(std::string_view encoded, std::size_t part) {
  while (!encoded.empty()) {
    const std::uint64_t found = take_number(encoded);
    const std::uint64_t size = take_number(encoded);
    if (size > encoded.size()) throw Error::damaged("the keys of a batch of the journal are cut");
    if (found == part) return encoded.substr(0, size);
    encoded.remove_prefix(size);
  }
  return {};
}

}  // namespace comptroller::store
