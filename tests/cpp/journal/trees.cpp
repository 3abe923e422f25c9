#include <doctest/doctest.h>

#include <bit>
#include <map>
#include <string>
#include <utility>

#include "journal/hexadecimal.hpp"
#include "journal/tree.hpp"
#include "model/error.hpp"

namespace comptroller::journal {
namespace {

constexpr std::uint64_t largest = 130;

Hash leaf(std::uint64_t index) {
  return leaf_hash("leaf " + std::to_string(index));
}

// The definitions of RFC 9162, as they are written: MTH, PATH and SUBPROOF over the leaves begin to
// end - 1. Roots are remembered, because the proofs of all sizes need them again.
Hash defined_root(std::uint64_t begin, std::uint64_t end) {
  static std::map<std::pair<std::uint64_t, std::uint64_t>, Hash> known;
  if (begin == end) return sha256("");
  if (end - begin == 1) return leaf(begin);
  const auto found = known.find({begin, end});
  if (found != known.end()) return found->second;
  const std::uint64_t middle = begin + std::bit_floor(end - begin - 1);
  return known[{begin, end}] = node_hash(defined_root(begin, middle), defined_root(middle, end));
}

std::vector<Hash> defined_inclusion(std::uint64_t index, std::uint64_t begin, std::uint64_t end) {
  if (end - begin == 1) return {};
  const std::uint64_t middle = begin + std::bit_floor(end - begin - 1);
  const bool is_left = index < middle;
  std::vector<Hash> path =
      is_left ? defined_inclusion(index, begin, middle) : defined_inclusion(index, middle, end);
  path.push_back(is_left ? defined_root(middle, end) : defined_root(begin, middle));
  return path;
}

std::vector<Hash> defined_consistency(std::uint64_t first, std::uint64_t begin, std::uint64_t end,
                                      bool is_known) {
  if (first == end && is_known) return {};
  if (first == end) return {defined_root(begin, end)};
  const std::uint64_t middle = begin + std::bit_floor(end - begin - 1);
  const bool is_left = first <= middle;
  std::vector<Hash> proof = is_left ? defined_consistency(first, begin, middle, is_known)
                                    : defined_consistency(first, middle, end, false);
  proof.push_back(is_left ? defined_root(middle, end) : defined_root(begin, middle));
  return proof;
}

// Keeps what Tree::append returns, as a store would.
struct Log {
  Tree tree;
  std::map<std::pair<unsigned, std::uint64_t>, Hash> stored;
  mutable int reads = 0;

  explicit Log(std::uint64_t size = 0) {
    while (tree.size() < size) append();
  }

  void append() {
    unsigned level = 0;
    for (const Hash& completed : tree.append(leaf(tree.size()))) {
      const std::uint64_t index = (tree.size() >> level) - 1;
      REQUIRE(stored.emplace(std::pair(level, index), completed).second);
      ++level;
    }
  }
  ReadHash reader() const {
    return [this](unsigned level, std::uint64_t index) {
      ++reads;
      return stored.at({level, index});
    };
  }
};

TEST_CASE("trees of all sizes have the root that the definition gives") {
  Log log;
  for (std::uint64_t size = 0; size <= largest; ++size) {
    CAPTURE(size);
    const Hash root = defined_root(0, size);
    CHECK(log.tree.size() == size);
    CHECK(log.tree.root() == root);
    log.reads = 0;
    Tree read = tree_of(size, log.reader());
    CHECK(log.reads == std::popcount(size));
    CHECK(read.size() == size);
    CHECK(read.root() == root);
    // It grows as the original does.
    log.append();
    read.append(leaf(size));
    CHECK(read.root() == log.tree.root());
  }
}

TEST_CASE("an append returns the hash of each subtree that it completes") {
  const Log log(largest);
  for (const auto& [place, hash] : log.stored) {
    const auto [level, index] = place;
    CHECK(hash == defined_root(index << level, (index + 1) << level));
  }
  // Two nodes for each leaf, except for those that are not complete.
  CHECK(log.stored.size() == 2 * largest - std::popcount(largest));
}

TEST_CASE("inclusion of each leaf in trees of all sizes has the proof that the definition gives") {
  const Log log(largest);
  for (std::uint64_t size = 1; size <= largest; ++size) {
    const Hash root = defined_root(0, size);
    for (std::uint64_t index = 0; index < size; ++index) {
      CAPTURE(size);
      CAPTURE(index);
      const std::vector<Hash> proof = inclusion_proof(index, size, log.reader());
      REQUIRE(proof == defined_inclusion(index, 0, size));
      REQUIRE(proves_inclusion(leaf(index), index, size, proof, root));
    }
  }
}

TEST_CASE("consistency of trees of all sizes has the proof that the definition gives") {
  const Log log(largest);
  for (std::uint64_t second = 0; second <= largest; ++second) {
    const Hash second_root = defined_root(0, second);
    for (std::uint64_t first = 0; first <= second; ++first) {
      CAPTURE(second);
      CAPTURE(first);
      const std::vector<Hash> proof = consistency_proof(first, second, log.reader());
      if (first == 0) {
        REQUIRE(proof.empty());
      } else {
        REQUIRE(proof == defined_consistency(first, 0, second, true));
      }
      REQUIRE(proves_consistency(first, defined_root(0, first), second, second_root, proof));
    }
  }
}

// Calls `check` once for each bit of the hash, with the bit flipped.
template <class Check>
void for_each_flipped_bit(Hash& hash, const Check& check) {
  for (std::size_t bit = 0; bit < 8 * hash.size(); ++bit) {
    const auto mask = static_cast<std::uint8_t>(1U << bit % 8);
    hash[bit / 8] ^= mask;
    check();
    hash[bit / 8] ^= mask;
  }
}

TEST_CASE("a proof of inclusion with any bit changed is refused") {
  const Log log(21);
  for (const std::uint64_t size : {1, 2, 7, 8, 13, 21}) {
    for (std::uint64_t index = 0; index < size; ++index) {
      Hash hash = leaf(index);
      Hash root = defined_root(0, size);
      std::vector<Hash> proof = inclusion_proof(index, size, log.reader());
      const auto is_refused = [&] {
        REQUIRE_FALSE(proves_inclusion(hash, index, size, proof, root));
      };
      for_each_flipped_bit(hash, is_refused);
      for_each_flipped_bit(root, is_refused);
      for (Hash& sibling : proof) for_each_flipped_bit(sibling, is_refused);

      for (std::uint64_t other = 0; other <= size + 1; ++other) {
        CHECK(proves_inclusion(hash, other, size, proof, root) == (other == index));
      }
      CHECK_FALSE(proves_inclusion(hash, UINT64_MAX, size, proof, root));
      CHECK_FALSE(proves_inclusion(hash, index, index, proof, root));
      CHECK_FALSE(proves_inclusion(hash, index, UINT64_MAX, proof, root));

      proof.push_back(root);
      is_refused();
      proof.pop_back();
      if (proof.empty()) continue;
      proof.pop_back();
      is_refused();
    }
  }
}

TEST_CASE("a proof of consistency with any bit changed is refused") {
  const Log log(21);
  for (const std::uint64_t second : {1, 2, 7, 8, 13, 21}) {
    for (std::uint64_t first = 1; first <= second; ++first) {
      CAPTURE(first);
      CAPTURE(second);
      Hash first_root = defined_root(0, first);
      Hash second_root = defined_root(0, second);
      std::vector<Hash> proof = consistency_proof(first, second, log.reader());
      const auto is_refused = [&] {
        REQUIRE_FALSE(proves_consistency(first, first_root, second, second_root, proof));
      };
      for_each_flipped_bit(first_root, is_refused);
      for_each_flipped_bit(second_root, is_refused);
      for (Hash& hash : proof) for_each_flipped_bit(hash, is_refused);

      CHECK_FALSE(proves_consistency(second + 1, second_root, second, second_root, proof));
      CHECK_FALSE(proves_consistency(UINT64_MAX, first_root, second, second_root, proof));
      CHECK_FALSE(proves_consistency(first, first_root, UINT64_MAX, second_root, proof));
      for (std::uint64_t other = 0; other <= second; ++other) {
        if (other == first) continue;
        CHECK_FALSE(proves_consistency(other, first_root, second, second_root, proof));
      }
      proof.push_back(second_root);
      is_refused();
      proof.pop_back();
      if (proof.empty()) continue;
      proof.pop_back();
      is_refused();
    }
  }
}

TEST_CASE("only the root of an empty tree is consistent with a tree as its empty beginning") {
  const Hash empty = sha256("");
  const Hash root = leaf(0);
  CHECK(proves_consistency(0, empty, 1, root, {}));
  CHECK_FALSE(proves_consistency(0, root, 1, root, {}));
  CHECK_FALSE(proves_consistency(0, empty, 1, root, std::vector{root}));
  CHECK_FALSE(proves_consistency(0, root, 0, root, {}));
}

TEST_CASE("the largest tree reads and proves within its limits") {
  int reads = 0;
  const ReadHash read = [&](unsigned level, std::uint64_t index) {
    ++reads;
    REQUIRE(level < 63);
    REQUIRE(index < (max_tree_size >> level));
    return leaf(index);
  };
  CHECK(tree_of(max_tree_size, read).size() == max_tree_size);
  CHECK(reads == 63);
  const std::uint64_t places[] = {0, 1, max_tree_size / 2, max_tree_size / 2 + 1,
                                  max_tree_size - 1};
  for (const std::uint64_t place : places) {
    reads = 0;
    CHECK(inclusion_proof(place, max_tree_size, read).size() <= 63);
    CHECK(reads <= 126);
    reads = 0;
    CHECK(consistency_proof(place, max_tree_size, read).size() <= 64);
    CHECK(reads <= 126);
  }
}

TEST_CASE("places outside of the tree are refused") {
  const Log log(5);
  const ReadHash read = log.reader();
  CHECK_THROWS_WITH_AS(inclusion_proof(5, 5, read),
                       "index: must be less than the size of the tree, 5, not 5", Error);
  CHECK_THROWS_WITH_AS(inclusion_proof(0, 0, read),
                       "index: must be less than the size of the tree, 0, not 0", Error);
  CHECK_THROWS_WITH_AS(consistency_proof(6, 5, read), "first: must be at most 5, not 6", Error);
  const std::uint64_t too_large = max_tree_size + 1;
  const std::string limit = "must be at most 9223372036854775807, not 9223372036854775808";
  CHECK_THROWS_WITH_AS(tree_of(too_large, read), ("size: " + limit).c_str(), Error);
  CHECK_THROWS_WITH_AS(inclusion_proof(0, too_large, read), ("size: " + limit).c_str(), Error);
  CHECK_THROWS_WITH_AS(consistency_proof(0, too_large, read), ("second: " + limit).c_str(), Error);
}

TEST_CASE("an error of the reader reaches the caller") {
  const ReadHash read = [](unsigned, std::uint64_t) -> Hash { throw Error::damaged("no hash"); };
  CHECK_THROWS_WITH_AS(tree_of(1, read), "the store is damaged: no hash", Error);
  CHECK_THROWS_WITH_AS(inclusion_proof(0, 2, read), "the store is damaged: no hash", Error);
  CHECK_THROWS_WITH_AS(consistency_proof(1, 2, read), "the store is damaged: no hash", Error);
}

}  // namespace
}  // namespace comptroller::journal
