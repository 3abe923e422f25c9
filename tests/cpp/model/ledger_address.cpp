#include "model/ledger_address.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <random>
#include <vector>

namespace comptroller {
namespace {

constexpr Ledger evm_ledgers[] = {Ledger::ethereum, Ledger::ink, Ledger::xlayer,
                                  Ledger::arbitrum_one};

std::string changed(std::string_view address, int (*change)(int)) {
  std::string result(address);
  for (std::size_t i = 2; i < result.size(); ++i) {
    result[i] = static_cast<char>(change(static_cast<unsigned char>(result[i])));
  }
  return result;
}

TEST_CASE("an EVM address in one case or with a correct checksum is converted to EIP-55") {
  for (const std::string_view checksummed : {
           // The test addresses of EIP-55.
           "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
           "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
           "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
           "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
           // Addresses with letters of only one case.
           "0x52908400098527886E0F7030069857D2E4169EE7",
           "0x8617E340B3D01FA5F11F306F4090FD50E238070D",
           "0xde709f2102306220921060314715629080e2fb77",
           "0x27b1fdb04752bbc536007a920d24acb045561c26",
           "0x0000000000000000000000000000000000000000",
           "0x1234567890123456789012345678901234567890",
       }) {
    CAPTURE(checksummed);
    for (const Ledger ledger : evm_ledgers) {
      CHECK(canonical_address(ledger, checksummed) == checksummed);
      CHECK(canonical_address(ledger, changed(checksummed, std::tolower)) == checksummed);
      CHECK(canonical_address(ledger, changed(checksummed, std::toupper)) == checksummed);
    }
  }
}

TEST_CASE("an EVM address with one letter in the wrong case is refused") {
  const std::string right = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
  for (std::size_t i = 2; i < right.size(); ++i) {
    const auto letter = static_cast<unsigned char>(right[i]);
    if (std::isalpha(letter) == 0) continue;
    std::string wrong = right;
    wrong[i] =
        static_cast<char>(std::islower(letter) != 0 ? std::toupper(letter) : std::tolower(letter));
    CAPTURE(wrong);
    CHECK_FALSE(canonical_address(Ledger::ethereum, wrong).has_value());
  }
}

TEST_CASE("text that is not an EVM address is refused") {
  for (const std::string_view text :
       {"", "0x", "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beae",
        "5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed0",
        "0X5AAEB6053F3E94C9B9A09F33669435E7EF1BEAED", "0X5aaeb6053f3e94c9b9a09f33669435e7ef1beaed",
        "1x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaeg",
        "0x5AAEB6053F3E94C9B9A09F33669435E7EF1BEAEG", "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beae ",
        "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beae/", "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beae:",
        "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beae@", "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beae`",
        "So11111111111111111111111111111111111111112"}) {
    CAPTURE(text);
    for (const Ledger ledger : evm_ledgers)
      CHECK_FALSE(canonical_address(ledger, text).has_value());
  }
}

TEST_CASE("a Solana address is base58 of exactly 32 bytes, and unchanged") {
  for (const std::string_view text : {
           "So11111111111111111111111111111111111111112",
           "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
           "Vote111111111111111111111111111111111111111",
           "11111111111111111111111111111111",              // 32 zero bytes
           "JEKNVnkbo3jma5nREBBJCDoXFVeKkD56V3xKrvRmWxFG",  // 32 bytes ff
           "14uQeVj5tqViQh7yWWGStvkEG1Zmhx6uasJtWCJziofL",  // a zero byte and 31 bytes ff
       }) {
    CAPTURE(text);
    CHECK(canonical_address(Ledger::solana, text) == text);
  }
  for (const std::string_view text : {
           "",
           "1111111111111111111111111111111",                 // 31 bytes
           "111111111111111111111111111111111",               // 33 bytes
           "4uQeVj5tqViQh7yWWGStvkEG1Zmhx6uasJtWCJziofL",     // 31 bytes
           "JEKNVnkbo3jma5nREBBJCDoXFVeKkD56V3xKrvRmWxFH",    // 2^256: 33 bytes in 44 characters
           "2K3n5t4wSaF5mj27Tw9vStXWLWyRjjiH5Cp3CFLpKVCr1c",  // 33 bytes
           "So1111111111111111111111111111111111111111l",     // not in the alphabet
           "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
       }) {
    CAPTURE(text);
    CHECK_FALSE(canonical_address(Ledger::solana, text).has_value());
  }
}

TEST_CASE("a character outside the alphabet of base58 is refused at every position") {
  const std::string address = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA";
  for (std::size_t position = 0; position < address.size(); ++position) {
    for (const char c : std::string("0OIl +-_/\xff\0", 11)) {
      std::string wrong = address;
      wrong[position] = c;
      CAPTURE(wrong);
      CHECK_FALSE(canonical_address(Ledger::solana, wrong).has_value());
    }
  }
}

// Encodes bytes as base58 by long division.
std::string encode_base58(std::vector<unsigned char> number) {
  constexpr std::string_view alphabet =
      "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
  const auto is_zero = [](unsigned char byte) { return byte == 0; };
  const auto first = std::ranges::find_if_not(number, is_zero);
  const auto zeros = static_cast<std::size_t>(first - number.begin());
  std::string text;
  while (!std::ranges::all_of(number, is_zero)) {
    unsigned remainder = 0;
    for (unsigned char& byte : number) {
      const unsigned dividend = 256 * remainder + byte;
      byte = static_cast<unsigned char>(dividend / 58);
      remainder = dividend % 58;
    }
    text += alphabet[remainder];
  }
  text.append(zeros, '1');
  std::ranges::reverse(text);
  return text;
}

TEST_CASE("the base58 texts of 32 random bytes are Solana addresses, with leading zeros too") {
  std::mt19937 random(58);
  for (int round = 0; round < 2'000; ++round) {
    std::vector<unsigned char> bytes(30 + random() % 5);
    for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random() & 0xff);
    std::fill_n(bytes.begin(), random() % 5, static_cast<unsigned char>(0));
    const std::string text = encode_base58(bytes);
    CAPTURE(text);
    CHECK(canonical_address(Ledger::solana, text).has_value() == (bytes.size() == 32));
  }
}

TEST_CASE("the expectation of addresses depends on the ledger") {
  CHECK(address_expectation(Ledger::solana) == "an address of SOLANA: 32 bytes in base58");
  CHECK(address_expectation(Ledger::ink) ==
        "an address of INK: 0x and 40 hexadecimal digits, all lower case, all upper case or with a "
        "correct EIP-55 checksum");
}

TEST_CASE("a filter finds an EVM address in any case, a Solana address only unchanged") {
  const std::string kept = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
  const std::string wrong = "0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
  for (const Ledger ledger : evm_ledgers) {
    for (const std::string& text :
         {kept, wrong, changed(kept, std::tolower), changed(kept, std::toupper)}) {
      CHECK(sought_address(ledger, text) == kept);
    }
  }
  const std::string solana = "So11111111111111111111111111111111111111112";
  CHECK(sought_address(Ledger::solana, solana) == solana);
  for (const char* text :
       {"", "0x12", "no address", "SO11111111111111111111111111111111111111112"}) {
    CHECK(sought_address(Ledger::ethereum, text) == text);
    CHECK(sought_address(Ledger::solana, text) == text);
  }
}

}  // namespace
}  // namespace comptroller
