// Which records of a batch belong to which customer. The feed of a client reads these keys, so its
// work and its pages do not depend on the records of others.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "db/database.hpp"

namespace comptroller::store {

// The keys of the records of one table, by customer, as runs of consecutive keys.
class CustomerKeys {
 public:
  // Adds a record; keys ascend. One without a customer is left out.
  void add(std::string_view customer, std::int64_t key);
  // The keys of each customer, for KeyReader.
  std::map<std::string, std::string, std::less<>> encoded() const;

 private:
  struct Runs {
    std::string earlier = {};  // encoded
    std::int64_t end_of_earlier = 0;
    std::int64_t begin = 0;  // of the last run
    std::int64_t end = 0;
  };
  static void close(Runs& runs);

  std::map<std::string, Runs, std::less<>> customers_;
};

// Reads the keys of a customer in one part of a batch, in order.
class KeyReader {
 public:
  explicit KeyReader(std::string_view encoded) : rest_(encoded) {}

  // Returns the first key that is not less; keys of later calls ascend.
  std::optional<std::int64_t> first_from(std::int64_t key);

 private:
  std::string_view rest_;
  std::int64_t begin_ = 0;
  std::int64_t end_ = 0;
};

// The keys of a batch or an archive by customer: those of all its parts.
class BatchKeys {
 public:
  // Adds those of a part, which is the place of its table in the entry; parts ascend.
  void add(std::size_t part, const CustomerKeys& keys);
  const std::map<std::string, std::string, std::less<>>& by_customer() const { return keys_; }
  // Stores them for the batch of an entry.
  void save(db::Connection& connection, std::uint64_t sequence) const;

 private:
  std::map<std::string, std::string, std::less<>> keys_;
};

// Returns the keys of a part from those of a customer in a batch; empty if there are none.
std::string_view keys_of_part(std::string_view encoded, std::size_t part);

}  // namespace comptroller::store
