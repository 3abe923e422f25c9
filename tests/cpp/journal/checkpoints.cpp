#include <doctest/doctest.h>

#include <string>

#include "journal/checkpoint.hpp"
#include "journal/hexadecimal.hpp"
#include "journal/tree.hpp"
#include "model/error.hpp"

namespace comptroller::journal {
namespace {

// The example of C2SP tlog-checkpoint.
constexpr std::string_view example =
    "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";

TEST_CASE("a checkpoint is three lines") {
  const Checkpoint checkpoint{
      .origin = "example.com/behind-the-sofa",
      .size = 20'852'163,
      .root = hash_from("0ac5186a91863e8e1d90c808014aa89bf5da8e3ee1d9f07630f0378f68f1ab62")};
  CHECK(text_of(checkpoint) == example);
  CHECK(read_checkpoint(example) == checkpoint);
}

TEST_CASE("checkpoints of every kind are read as they were written") {
  for (const std::string origin : {"a", "with spaces and +", "Ünïcode/\u65e5\u672c"}) {
    for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{10}, max_tree_size}) {
      const Checkpoint checkpoint{.origin = origin, .size = size, .root = sha256(origin)};
      CHECK(read_checkpoint(text_of(checkpoint)) == checkpoint);
    }
  }
}

TEST_CASE("a checkpoint that could not be read is not written") {
  constexpr auto refused =
      "checkpoint.origin: must be a line of UTF-8 without control characters; "
      "it identifies the log";
  for (const std::string origin : {"", "a\nb", "a\tb", "\xff"}) {
    CHECK_THROWS_WITH_AS(text_of({.origin = origin}), refused, Error);
  }
  CHECK_THROWS_WITH_AS(text_of({.origin = "a", .size = max_tree_size + 1}),
                       "checkpoint.size: must be a decimal number without leading zeros, at most "
                       "9223372036854775807",
                       Error);
}

TEST_CASE("malformed checkpoints are refused") {
  const std::string root = "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";
  const std::string lines = "checkpoint: must be three lines: origin, size and root";
  const std::string origin =
      "checkpoint.origin: must be a line of UTF-8 without control characters; it identifies the "
      "log";
  const std::string size =
      "checkpoint.size: must be a decimal number without leading zeros, at most "
      "9223372036854775807";
  const std::string hash = "checkpoint.root: must be a hash of 32 bytes in base64";
  const struct {
    std::string text;
    std::string message;
  } rows[] = {
      {"", lines},
      {"\n", lines},
      {"a\n1\n", lines},
      {"a\n1\n" + root.substr(0, root.size() - 1), lines},
      {"a\n1\n" + root + "\n", lines},
      {"a\n1\n" + root + "extension\n", lines},
      {"a\n1\n" + root + "b", lines},
      {"\n1\n" + root, origin},
      {"a\r\n1\n" + root, origin},
      {std::string("a\0\n1\n", 5) + root, origin},
      {"\xc0\x80\n1\n" + root, origin},
      {"a\n\n" + root, size},
      {"a\n01\n" + root, size},
      {"a\n00\n" + root, size},
      {"a\n+1\n" + root, size},
      {"a\n-1\n" + root, size},
      {"a\n1 \n" + root, size},
      {"a\n 1\n" + root, size},
      {"a\n0x1\n" + root, size},
      {"a\n1e3\n" + root, size},
      {"a\n9223372036854775808\n" + root, size},
      {"a\n18446744073709551616\n" + root, size},
      {"a\n" + std::string(1'000, '9') + "\n" + root, size},
      {"a\n1\n\n", hash},
      {"a\n1\nAAAA\n", hash},
      {"a\n1\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I\n", hash},   // without padding
      {"a\n1\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2J=\n", hash},  // a bit beyond the end
      {"a\n1\nCsUYapGGPo4dkMgIAUqom_Xajj7h2fB2MPA3j2jxq2I=\n", hash},  // of the other alphabet
      {"a\n1\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I==\n", hash},
      {"a\n1\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2IA\n", hash},  // of 33 bytes
      {"a\n1\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I= \n", hash},
  };
  for (const auto& [text, message] : rows) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(read_checkpoint(text), message.c_str(), Error);
  }
}

}  // namespace
}  // namespace comptroller::journal
