// Vectors of the reference implementation of certificate transparency.
#include <doctest/doctest.h>

#include <cstddef>

#include "journal/hexadecimal.hpp"
#include "journal/tree.hpp"

namespace comptroller::journal {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view leaves[] = {""sv,
                                       "\0"sv,
                                       "\x10"sv,
                                       "\x20\x21"sv,
                                       "\x30\x31"sv,
                                       "\x40\x41\x42\x43"sv,
                                       "\x50\x51\x52\x53\x54\x55\x56\x57"sv,
                                       "\x60\x61\x62\x63\x64\x65\x66\x67"
                                       "\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f"sv};

// Of the first leaves, none to all.
constexpr std::string_view roots[] = {
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"};

// Complete subtrees are trees of their leaves.
Hash read_hash(unsigned level, std::uint64_t index) {
  Tree tree;
  const auto size = std::size_t{1} << level;
  for (std::size_t i = 0; i < size; ++i) tree.append(leaf_hash(leaves[index * size + i]));
  return tree.root();
}

TEST_CASE("trees of the published leaves have their published roots") {
  Tree tree;
  CHECK(digits_of(tree.root()) == roots[0]);
  for (const std::string_view leaf : leaves) {
    tree.append(leaf_hash(leaf));
    CAPTURE(tree.size());
    CHECK(digits_of(tree.root()) == roots[tree.size()]);
    CHECK(digits_of(tree_of(tree.size(), read_hash).root()) == roots[tree.size()]);
  }
}

TEST_CASE("published leaves have their published proofs of inclusion") {
  const struct {
    std::uint64_t index;
    std::uint64_t size;
    std::vector<Hash> proof;
  } rows[] = {
      {0, 1, {}},
      {0, 8,
       hashes_from({"96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
                    "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
                    "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4"})},
      {5, 8,
       hashes_from({"bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
                    "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
                    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"})},
      {2, 3, hashes_from({"fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"})},
      {1, 5,
       hashes_from({"6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
                    "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
                    "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b"})},
  };
  for (const auto& [index, size, proof] : rows) {
    CAPTURE(index);
    CAPTURE(size);
    CHECK(inclusion_proof(index, size, read_hash) == proof);
    CHECK(proves_inclusion(leaf_hash(leaves[index]), index, size, proof, hash_from(roots[size])));
  }
}

TEST_CASE("published trees have their published proofs of consistency") {
  const struct {
    std::uint64_t first;
    std::uint64_t second;
    std::vector<Hash> proof;
  } rows[] = {
      {1, 1, {}},
      {1, 8,
       hashes_from({"96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
                    "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
                    "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4"})},
      {6, 8,
       hashes_from({"0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
                    "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
                    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"})},
      {2, 5,
       hashes_from({"5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
                    "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b"})},
      {6, 7,
       hashes_from({"0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
                    "b08693ec2e721597130641e8211e7eedccb4c26413963eee6c1e2ed16ffb1a5f",
                    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"})},
  };
  for (const auto& [first, second, proof] : rows) {
    CAPTURE(first);
    CAPTURE(second);
    CHECK(consistency_proof(first, second, read_hash) == proof);
    CHECK(proves_consistency(first, hash_from(roots[first]), second, hash_from(roots[second]),
                             proof));
  }
}

TEST_CASE("a proof of a public log of 3,630,887 certificates is right") {
  const Hash leaf = hash_from("7a395c866d5ecdb0cccb623e011dbc392cd348d1d1d72776174e127a24b09c78");
  const Hash root = hash_from("78316a05c9bcf14a3a4548f5b854a9adfcd46a4c034401b3ce7eb7ac2f1d0ecb");
  std::vector<Hash> proof =
      hashes_from({"1a208aeebcd1b39fe2de247ee8db9454e1e93a312d206b87f6ca9cc6ec6f1ddd",
                   "0a1b78b383f580856f433c01a5741e160d451c185910027f6cc9f828687a40c4",
                   "3d1745789bc63f2da15850de1c12a5bf46ed81e1cc90f086148b1662e79aab3d",
                   "9095b61e14d8990acf390905621e62b1714fb8e399fbb71de5510e0aef45affe",
                   "0a332b91b8fab564e6afd1dd452449e04619b18accc0ff9aa8393cd4928451f2",
                   "2336f0181d264aed6d8f3a6507ca14a8d3b3c3a23791ac263e845d208c1ee330",
                   "b4ce56e300590500360c146c6452edbede25d4ed83919278749ee5dbe178e048",
                   "933f6ddc848ea562e4f9c5cfb5f176941301dad0c6fdb9d1fbbe34fac1be6966",
                   "b95a6222958a86f74c030be27c44f57dbe313e5e7c7f4ffb98bcbd3a03bb52f2",
                   "daeeb3ce5923defd0faeb8e0c210b753b85b809445d7d3d3cd537a9aabaa9c45",
                   "7fadd0a13e9138a2aa6c3fdec4e2275af233b94812784f66bcca9aa8e989f2bc",
                   "1864e6ba3e32878610546539734fb5eeae2529991f130c575c73a7e25a2a7c56",
                   "12842d1202b1dc6828a17ab253c02e7ce9409b5192430feba44189f39cc02d66",
                   "29af64b16fa3053c13d02ac63aa75b23aa468506e44c3a2315edc85d2dc22b11",
                   "b527b99934a0bd9edd154e449b0502e2c499bba783f3bc3dfe23364b6b532009",
                   "4584db8ae8e351ace08e01f306378a92bfd43611714814f3d834a2842d69faa8",
                   "86a9a41573b0d6e4292f01e93243d6cc65b30f06606fc6fa57390e7e90ed580f",
                   "a88b98fbe84d4c6aae8db9d1605dfac059d9f03fe0fcb0d5dff1295dacba09e6",
                   "06326dc617a6d1f7021dc536026dbfd5fffc6f7c5531d48ef6ccd1ed1569f2a1",
                   "f41fe8fdc3a2e4e8345e30216e7ebecffee26ff266eeced208a6c2a3cf08f960",
                   "40cf5bde8abb76983f3e98ba97aa36240402975674e120f234b3448911090f8d",
                   "b3222dc8658538079883d980d7fdc2bef9285344ea34338968f736b04aeb387a"});
  CHECK(proves_inclusion(leaf, 848'049, 3'630'887, proof, root));
  CHECK_FALSE(proves_inclusion(leaf, 848'050, 3'630'887, proof, root));
  proof.back()[31] ^= 1;
  CHECK_FALSE(proves_inclusion(leaf, 848'049, 3'630'887, proof, root));
}

}  // namespace
}  // namespace comptroller::journal
