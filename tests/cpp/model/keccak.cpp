#include "model/keccak.hpp"

#include <doctest/doctest.h>

#include <string>

#include "model/hexadecimal.hpp"

namespace comptroller {
namespace {

std::string digest_of(std::string_view message) {
  const std::array<char, 32> digest = keccak256(message);
  std::string text(64, '\0');
  write_hexadecimal(digest.data(), digest.size(), text.data());
  return text;
}

TEST_CASE("Keccak-256 gives its published digests") {
  CHECK(digest_of("") == "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470");
  CHECK(digest_of("abc") == "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45");
  CHECK(digest_of("testing") == "5f16f4c7f149ac4f9510d9cf8cf384038ad348b3bcdc01915f95de12df9d1b02");
  CHECK(digest_of("hello world") ==
        "47173285a8d7341e5e972fc677286384f802f8ef42a5ec5f03bbfa254cb01fad");
  CHECK(digest_of("The quick brown fox jumps over the lazy dog") ==
        "4d741b6f1eb29cb2a9b9911c82f56fa8d73b04959d3d9d222895df6c0b28aa15");
}

TEST_CASE("Keccak-256 pads messages around the length of a block") {
  const auto of_length = [](std::size_t length) { return digest_of(std::string(length, 'a')); };
  CHECK(of_length(135) == "34367dc248bbd832f4e3e69dfaac2f92638bd0bbd18f2912ba4ef454919cf446");
  CHECK(of_length(136) == "a6c4d403279fe3e0af03729caada8374b5ca54d8065329a3ebcaeb4b60aa386e");
  CHECK(of_length(137) == "d869f639c7046b4929fc92a4d988a8b22c55fbadb802c0c66ebcd484f1915f39");
  CHECK(of_length(271) == "132f47effd6c8b1b299efa53fe68aece77ec8ae4eb2e294f668eec94f76001e1");
  CHECK(of_length(272) == "cf7fcd4f705ee749930d19ca84561a9bf62516bd90a471545fa2f49fdc7e63c8");
  CHECK(of_length(1000) == "b6a4ac1f51884d71f30fa397a5e155de3099e11fc0edef5d08b646e621e19de9");
}

TEST_CASE("Keccak-256 reads every byte value") {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  CHECK(digest_of(bytes) == "dc924469b334aed2a19fac7252e9961aea41f8d91996366029dbe0884229bf36");
}

}  // namespace
}  // namespace comptroller
