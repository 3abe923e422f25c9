#include <doctest/doctest.h>

#include <random>
#include <string>

#include "journal/base64.hpp"
#include "journal/note.hpp"
#include "model/error.hpp"

namespace comptroller::journal {
namespace {

// The example in the documentation of Go's golang.org/x/mod/sumdb/note, with its private key.
const std::string text =
    "If you think cryptography is the answer to your problem,\n"
    "then you don't know what your problem is.\n";
const std::string neumann = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
const std::string signature =
    "\u2014 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngot"
    "pRZb6KE6RyyBwJnAM=\n";
// The second signature of another example there, whose seed is all zeros.
const std::string other_signature =
    "\u2014 EnochRoot rwz+eBzmZa0SO3NbfRGzPCpDckykFXSdeX+MNtCOXm2/5n2tiOHp+vAF1aGrQ5ovTG01oOTGwnWLo"
    "x33WWd1RvMc+QQ=\n";

SigningKey neumanns_key() {
  // A type, then the seed.
  const std::string private_key =
      from_base64("AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz").value();
  SigningKey key{.name = "PeterNeumann"};
  std::copy(private_key.begin() + 1, private_key.end(), key.seed.begin());
  return key;
}

TEST_CASE("the note of Go's documentation is signed and opened") {
  CHECK(verifier_key(neumanns_key()) == neumann);
  CHECK(signed_note(text, neumanns_key()) == text + "\n" + signature);
  CHECK(opened_text(text + "\n" + signature, neumann) == text);
}

TEST_CASE("signatures of other keys are ignored") {
  const SigningKey other{.name = "EnochRoot"};
  CHECK(signed_note(text, other) == text + "\n" + other_signature);
  for (const std::string& key : {neumann, verifier_key(other)}) {
    CHECK(opened_text(text + "\n" + signature + other_signature, key) == text);
    CHECK(opened_text(text + "\n" + other_signature + signature, key) == text);
  }
  // Of the same name, but with another key.
  const SigningKey namesake{.name = "PeterNeumann"};
  const std::string note = signed_note(text, namesake) + signature;
  CHECK(opened_text(note, neumann) == text);
  CHECK(opened_text(note, verifier_key(namesake)) == text);
}

TEST_CASE("any text of lines is opened as it was signed") {
  const SigningKey key{.name = "log.example/\u65e5\u672c"};
  for (const std::string each : {"\n", "\n\n\n", "a\n", "a\n\nb\n\n", "\u2014 PeterNeumann AAAA\n",
                                 "\u00e9\u2028\x7f\U0001f600\n"}) {
    CAPTURE(each);
    CHECK(opened_text(signed_note(each, key), verifier_key(key)) == each);
  }
}

TEST_CASE("texts and names that no note can have are not signed") {
  constexpr auto refused_text = "text: must be lines of UTF-8 that end with a newline";
  for (const std::string each : {"", "a", "a\nb", "a\tb\n", "a\r\n", "\xff\n"}) {
    CAPTURE(each);
    CHECK_THROWS_WITH_AS(signed_note(each, neumanns_key()), refused_text, Error);
  }
  constexpr auto refused_name = "name: must be UTF-8 without spaces, control characters and \"+\"";
  for (const std::string each :
       {"", "a b", "a+b", "a\nb", "\xff", "a\u0085", "\u00a0a", "a\u2003b", "a\u2028b", "\u3000"}) {
    CAPTURE(each);
    CHECK_THROWS_WITH_AS(verifier_key({.name = each}), refused_name, Error);
    CHECK_THROWS_WITH_AS(signed_note(text, {.name = each}), refused_name, Error);
  }
}

TEST_CASE("a note with any bit changed is refused") {
  std::string note = text + "\n" + signature;
  for (std::size_t bit = 0; bit < 8 * note.size(); ++bit) {
    CAPTURE(bit);
    const auto mask = static_cast<char>(1U << bit % 8);
    note[bit / 8] = static_cast<char>(note[bit / 8] ^ mask);
    CHECK_THROWS_AS(opened_text(note, neumann), Error);
    note[bit / 8] = static_cast<char>(note[bit / 8] ^ mask);
  }
  for (std::size_t size = 0; size < note.size(); ++size) {
    CHECK_THROWS_AS(opened_text(note.substr(0, size), neumann), Error);
  }
}

TEST_CASE("malformed notes are refused") {
  const std::string lines = "note: must be lines of UTF-8 that end with a newline";
  const std::string parts = "note: must be a text, an empty line and signatures";
  const std::string first = "note: signature 1 is malformed; must be \"\u2014 <name> <base64>\"";
  const std::string second = "note: signature 2 is malformed; must be \"\u2014 <name> <base64>\"";
  const std::string absent = "note: has no signature by PeterNeumann";
  const std::string wrong = "note: the signature by PeterNeumann does not match the text";
  std::string many = text + "\n";
  for (std::size_t i = 0; i <= max_signatures; ++i) many += other_signature;
  const struct {
    std::string note;
    std::string message;
  } rows[] = {
      {"", lines},
      {text, parts},
      {"\n", parts},
      {signature, parts},
      {text + signature, parts},
      {text + "\n", absent},
      {text + "\n" + other_signature, absent},
      {text + "\n" + signature.substr(0, signature.size() - 1), lines},
      {text + "\r\n" + signature, lines},
      {"\xff" + text + "\n" + signature, lines},
      {std::string(1, '\0') + text + "\n" + signature, lines},
      {"a" + text + "\n" + signature, wrong},
      {"\n" + text + "\n" + signature, wrong},
      {text + "\n\n" + signature, wrong},
      {text + "\n" + signature + "\n", absent},  // the text is then all before the last empty line
      {text + "\n" + signature + "a\n", second},
      {text + "\n" + "- PeterNeumann x08go/ZJkuA=\n", first},
      {text + "\n" + "\u2014PeterNeumann x08go/ZJkuA=\n", first},
      {text + "\n" + "\u2014  x08go/ZJkuA=\n", first},
      {text + "\n" + "\u2014 PeterNeumann\n", first},
      {text + "\n" + "\u2014 PeterNeumann \n", first},
      {text + "\n" + "\u2014 Peter+Neumann x08go/ZJkuA=\n", first},
      {text + "\n" + "\u2014 Peter Neumann x08go/ZJkuA=\n", first},
      {text + "\n" + "\u2014 Peter\u00a0Neumann x08go/ZJkuA=\n", first},
      {text + "\n" + "\u2014 PeterNeumann x08go/ZJkuA\n", first},
      {text + "\n" + "\u2014 PeterNeumann x08go/ZJkuB=\n", first},
      {text + "\n" + "\u2014 PeterNeumann x08gow==\n", first},  // an id without a signature
      {text + "\n" + "\u2014 PeterNeumann x08go/ZJkuA=\n", wrong},
      {many, "note: must have at most 100 signatures"},
      {std::string(max_note_bytes, 'a') + "\n\n" + signature,
       "note: must be at most 1000000 bytes"},
  };
  for (const auto& [note, message] : rows) {
    CAPTURE(note.substr(0, 300));
    CHECK_THROWS_WITH_AS(opened_text(note, neumann), message.c_str(), Error);
  }
}

TEST_CASE("malformed keys are refused") {
  const std::string base64 = "ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
  for (const std::string& key :
       {std::string(), std::string("PeterNeumann"), std::string("PeterNeumann+c74f20a3"),
        "PeterNeumann+" + base64, "PeterNeumann++" + base64, "+c74f20a3+" + base64,
        "PeterNeumann+c74f20a4+" + base64, "PeterNeumann+C74F20A3+" + base64,
        "PeterNeumann+0c74f20a3+" + base64, "Peter Neumann+c74f20a3+" + base64,
        "PeterNeuman+c74f20a3+" + base64, neumann + "\n", neumann + "=", neumann + "AAAA",
        neumann.substr(0, neumann.size() - 4),
        // With the id of its name and bytes, but of another type, and too short.
        std::string("PeterNeumann+51c40ff3+AhpZ"), std::string("PeterNeumann+c74f20a3+")}) {
    CAPTURE(key);
    CHECK_THROWS_WITH_AS(opened_text(text + "\n" + signature, key),
                         "verifier_key: must be an Ed25519 key \"<name>+<id>+<base64>\" whose id "
                         "is that of its name and bytes",
                         Error);
  }
}

TEST_CASE("random changes of a note cause no other exception") {
  std::mt19937 random(38);
  const auto any = [&](std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random);
  };
  const std::string pieces[] = {"\n",      "\n\n", " ",    "+",       "=",
                                "\u2014 ", "\xe2", "\x80", signature, std::string(1, '\0')};
  int refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string note = text + "\n" + other_signature + signature;
    std::string key = neumann;
    for (std::size_t change = 0; change <= any(4); ++change) {
      std::string& changed = any(16) == 0 ? key : note;
      const std::size_t place = any(changed.size());
      changed.replace(place, any(3), pieces[any(std::size(pieces))]);
    }
    std::string opened = text;
    try {
      opened = opened_text(note, key);
    } catch (const Error& error) {
      REQUIRE(error.code() == Code::invalid_request);
      ++refused;
    }
    REQUIRE(opened == text);
  }
  CHECK(refused > 10'000);
  CHECK(refused < 20'000);
}

}  // namespace
}  // namespace comptroller::journal
