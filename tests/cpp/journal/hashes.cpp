#include <doctest/doctest.h>

#include <string>
#include <thread>
#include <vector>

#include "journal/hash.hpp"
#include "journal/hexadecimal.hpp"

namespace comptroller::journal {
namespace {

// The first two of FIPS 180-4's examples, then the empty text and a million letters.
constexpr std::string_view abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr std::string_view two_blocks =
    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1";
constexpr std::string_view nothing =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr std::string_view million =
    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

TEST_CASE("SHA-256 gives its published digests") {
  CHECK(digits_of(sha256("abc")) == abc);
  CHECK(digits_of(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")) ==
        two_blocks);
  CHECK(digits_of(sha256("")) == nothing);
  CHECK(digits_of(sha256(std::string(1'000'000, 'a'))) == million);
}

TEST_CASE("a stream has the hash of its bytes, whatever its pieces") {
  const std::string text(1'000, 'a');
  Sha256 stream;
  for (int piece = 0; piece < 1'000; ++piece) stream.update(text);
  CHECK(digits_of(stream.finish()) == million);
  // Begins anew.
  CHECK(digits_of(stream.finish()) == nothing);
  stream.update("a");
  stream.update("");
  stream.update("bc");
  CHECK(digits_of(stream.finish()) == abc);
}

TEST_CASE("streams do not affect each other, nor other hashes") {
  Sha256 first;
  Sha256 second;
  first.update("a");
  second.update("ab");
  CHECK(digits_of(sha256("abc")) == abc);
  first.update("bc");
  second.update("c");
  CHECK(first.finish() == second.finish());
}

TEST_CASE("several threads hash at the same time") {
  std::vector<Hash> hashes(4);
  {
    std::vector<std::jthread> threads;
    for (Hash& hash : hashes) {
      threads.emplace_back([&hash] { hash = sha256(std::string(1'000'000, 'a')); });
    }
  }
  for (const Hash& hash : hashes) CHECK(digits_of(hash) == million);
}

// Vectors of the reference implementation of certificate transparency.
TEST_CASE("leaves and nodes have their published hashes") {
  CHECK(digits_of(leaf_hash("")) ==
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d");
  const Hash left = hash_from("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");
  const Hash right = hash_from("202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f");
  CHECK(digits_of(leaf_hash(bytes_of(left).substr(16))) ==
        "3bfb960453ebaebf33727da7a1f4db38acc051d381b6da20d6d4e88f0eabfd7a");
  CHECK(digits_of(node_hash(left, right)) ==
        "1a378704c17da31e2d05b6d121c2bb2c7d76f6ee6fa8f983e596c2d034963c57");
}

}  // namespace
}  // namespace comptroller::journal
