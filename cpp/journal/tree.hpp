// The Merkle tree of an append-only log, and its proofs (RFC 9162, 2.1).
//
// A complete subtree has 2^level leaves and begins at leaf index * 2^level; it is identified by
// `level` and `index`, and never changes. All functions need only hashes of complete subtrees.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "journal/hash.hpp"

namespace comptroller::journal {

// The largest number of leaves: what a signed number of 64 bits can represent.
inline constexpr std::uint64_t max_tree_size = INT64_MAX;

// Returns the hash of a complete subtree. Its exceptions reach the caller of the function that
// reads.
using ReadHash = std::function<Hash(unsigned level, std::uint64_t index)>;

// A growing tree, as the complete subtrees at its right edge. For one thread at a time.
class Tree {
 public:
  std::uint64_t size() const { return size_; }

  // Appends the hash of a leaf. Returns the hashes of the subtrees that the leaf completes: level
  // 0, which is the leaf, 1 and so on; the subtree of a level begins at leaf size() - 2^level, and
  // its index is (size() >> level) - 1. They are valid until the next call. The tree must be
  // smaller than max_tree_size.
  std::span<const Hash> append(const Hash& leaf);

  // Returns the root; of an empty tree, the hash of no bytes.
  Hash root() const;

 private:
  friend Tree tree_of(std::uint64_t size, const ReadHash& read);

  std::uint64_t size_ = 0;
  // The subtree of a level is at the right edge if size_ has this bit.
  std::array<Hash, 64> edge_{};
  std::array<Hash, 64> completed_{};
};

// Returns the tree of the first `size` leaves. Reads a hash for each bit of `size` that is set.
Tree tree_of(std::uint64_t size, const ReadHash& read);

// Returns the proof that leaf `index` is in the tree of the first `size` leaves (RFC
// 9162, 2.1.3.1). Reads at most 126 hashes. Throws invalid_request unless index < size <=
// max_tree_size.
std::vector<Hash> inclusion_proof(std::uint64_t index, std::uint64_t size, const ReadHash& read);

// Returns the proof that the tree of `second` leaves begins with the leaves of the tree of `first`
// (RFC 9162, 2.1.4.1); empty if `first` is 0 or `second`. Reads at most 126 hashes. Throws
// invalid_request unless first <= second <= max_tree_size.
std::vector<Hash> consistency_proof(std::uint64_t first, std::uint64_t second,
                                    const ReadHash& read);

// Whether `proof` proves that leaf `index` has the hash `leaf` in the tree with this size and root.
// False for invalid arguments.
bool proves_inclusion(const Hash& leaf, std::uint64_t index, std::uint64_t size,
                      std::span<const Hash> proof, const Hash& root);

// Whether `proof` proves that the second tree begins with the leaves of the first. False for
// invalid arguments. An empty tree is consistent with every tree.
bool proves_consistency(std::uint64_t first, const Hash& first_root, std::uint64_t second,
                        const Hash& second_root, std::span<const Hash> proof);

}  // namespace comptroller::journal
