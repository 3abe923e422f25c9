#include "journal/tree.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <string>

#include "model/error.hpp"

namespace comptroller::journal {

namespace {

// Leaves begin to end - 1.
struct Range {
  std::uint64_t begin;
  std::uint64_t end;

  std::uint64_t size() const { return end - begin; }
  // The first leaf of the right child: the left child has the largest power of two of leaves that
  // is less than size(). The size is at least 2.
  std::uint64_t middle() const { return begin + std::bit_floor(size() - 1); }
};

void require_at_most(std::string_view field, std::uint64_t number, std::uint64_t maximum) {
  if (number <= maximum) return;
  throw Error::invalid(
      field, "must be at most " + std::to_string(maximum) + ", not " + std::to_string(number));
}

// Hashes `size` leaves as complete subtrees of decreasing size; hash_at(level) is that of the
// subtree for this bit of `size`.
template <class HashAt>
Hash hash_of_subtrees(std::uint64_t size, const HashAt& hash_at) {
  std::optional<Hash> hash;
  for (unsigned level = 0; size >> level != 0; ++level) {
    if ((size >> level & 1) == 0) continue;
    hash = hash ? node_hash(hash_at(level), *hash) : hash_at(level);
  }
  return hash ? *hash : sha256({});
}

// `range` is a node of the tree, so its complete subtrees begin at multiples of their size.
Hash hash_of(Range range, const ReadHash& read) {
  return hash_of_subtrees(range.size(), [&](unsigned level) {
    // The subtree ends where the smaller ones begin.
    const std::uint64_t smaller = range.size() & ((std::uint64_t{1} << level) - 1);
    return read(level, ((range.end - smaller) >> level) - 1);
  });
}

// Descends from the root of a tree of `size` leaves towards `leaf` until is_reached(range). Returns
// the range reached, and appends the hashes of the siblings passed to `out`, from the root down.
template <class IsReached>
Range descend(std::uint64_t size, std::uint64_t leaf, const IsReached& is_reached,
              const ReadHash& read, std::vector<Hash>& out) {
  Range range{0, size};
  while (!is_reached(range)) {
    const std::uint64_t middle = range.middle();
    if (leaf < middle) {
      out.push_back(hash_of({middle, range.end}, read));
      range.end = middle;
    } else {
      out.push_back(hash_of({range.begin, middle}, read));
      range.begin = middle;
    }
  }
  return range;
}

// The position of a node on its level, and that of the last node on this level, during the way up.
struct Position {
  std::uint64_t node;
  std::uint64_t last;

  bool is_right_child() const { return (node & 1) == 1; }
  bool is_root() const { return last == 0; }
  void ascend() {
    node >>= 1;
    last >>= 1;
  }
  // Whether the next hash of a proof is the left sibling. If so, ascends over the levels on which
  // the node is the last and has no sibling.
  bool has_left_sibling() {
    if (!is_right_child() && node != last) return false;
    while (!is_right_child() && node != 0) ascend();
    return true;
  }
};

}  // namespace

std::span<const Hash> Tree::append(const Hash& leaf) {
  unsigned level = 0;
  completed_[0] = leaf;
  for (; (size_ >> level & 1) == 1; ++level) {
    completed_[level + 1] = node_hash(edge_[level], completed_[level]);
  }
  edge_[level] = completed_[level];
  ++size_;
  return {completed_.data(), level + 1};
}

Hash Tree::root() const {
  return hash_of_subtrees(size_, [this](unsigned level) { return edge_[level]; });
}

Tree tree_of(std::uint64_t size, const ReadHash& read) {
  require_at_most("size", size, max_tree_size);
  Tree tree;
  tree.size_ = size;
  for (unsigned level = 0; size >> level != 0; ++level) {
    if ((size >> level & 1) == 1) tree.edge_[level] = read(level, (size >> level) - 1);
  }
  return tree;
}

std::vector<Hash> inclusion_proof(std::uint64_t index, std::uint64_t size, const ReadHash& read) {
  require_at_most("size", size, max_tree_size);
  if (index >= size) {
    throw Error::invalid("index", "must be less than the size of the tree, " +
                                      std::to_string(size) + ", not " + std::to_string(index));
  }
  std::vector<Hash> proof;
  const auto is_leaf = [](Range range) { return range.size() == 1; };
  descend(size, index, is_leaf, read, proof);
  std::ranges::reverse(proof);
  return proof;
}

std::vector<Hash> consistency_proof(std::uint64_t first, std::uint64_t second,
                                    const ReadHash& read) {
  require_at_most("second", second, max_tree_size);
  require_at_most("first", first, second);
  std::vector<Hash> proof;
  if (first == 0) return proof;
  const auto ends_first = [first](Range range) { return range.end == first; };
  const Range range = descend(second, first - 1, ends_first, read, proof);
  // The verifier knows the hash of a range that begins at 0: it is the first root.
  if (range.begin > 0) proof.push_back(hash_of(range, read));
  std::ranges::reverse(proof);
  return proof;
}

// RFC 9162, 2.1.3.2.
bool proves_inclusion(const Hash& leaf, std::uint64_t index, std::uint64_t size,
                      std::span<const Hash> proof, const Hash& root) {
  if (index >= size || size > max_tree_size) return false;
  Position position{index, size - 1};
  Hash hash = leaf;
  for (const Hash& sibling : proof) {
    if (position.is_root()) return false;
    hash = position.has_left_sibling() ? node_hash(sibling, hash) : node_hash(hash, sibling);
    position.ascend();
  }
  return position.is_root() && hash == root;
}

// RFC 9162, 2.1.4.2.
bool proves_consistency(std::uint64_t first, const Hash& first_root, std::uint64_t second,
                        const Hash& second_root, std::span<const Hash> proof) {
  if (first > second || second > max_tree_size) return false;
  if (first == 0) return proof.empty() && first_root == sha256({});
  if (first == second) return proof.empty() && first_root == second_root;

  // Begins at the largest complete subtree that ends the first tree. If it is the first tree, the
  // proof omits its hash.
  Position position{first - 1, second - 1};
  while (position.is_right_child()) position.ascend();
  Hash start = first_root;
  if (position.node != 0) {
    if (proof.empty()) return false;
    start = proof.front();
    proof = proof.subspan(1);
  }
  Hash first_hash = start;
  Hash second_hash = start;
  for (const Hash& sibling : proof) {
    if (position.is_root()) return false;
    if (position.has_left_sibling()) {
      first_hash = node_hash(sibling, first_hash);
      second_hash = node_hash(sibling, second_hash);
    } else {
      second_hash = node_hash(second_hash, sibling);
    }
    position.ascend();
  }
  return position.is_root() && first_hash == first_root && second_hash == second_root;
}

}  // namespace comptroller::journal
