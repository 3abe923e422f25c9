// Notes and proofs of others are verified, or refused.
#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "fuzz/targets.hpp"
#include "journal/base64.hpp"
#include "journal/checkpoint.hpp"
#include "journal/note.hpp"
#include "journal/tree.hpp"
#include "model/error.hpp"

namespace comptroller::fuzz {

namespace {

journal::SigningKey key_of(const char* name, unsigned char byte) {
  journal::SigningKey key{name, {}};
  key.seed.fill(byte);
  return key;
}

void attempt(const auto& read) {
  try {
    read();
  } catch (const Error& error) {
    require(error.code() == Code::invalid_request, "refused with another error");
  }
}

}  // namespace

void note(std::string_view input) {
  static const journal::SigningKey key = key_of("fuzz", 7);
  static const std::string verifier = journal::verifier_key(key);
  attempt([&] {
    const std::string text = journal::opened_text(input, verifier);
    require(journal::signed_note(text, key).starts_with(text), "opens a text that has no note");
  });
  attempt([&] {
    const journal::Checkpoint checkpoint = journal::read_checkpoint(input);
    require(journal::text_of(checkpoint) == input, "writes another checkpoint");
  });
  attempt([&] { journal::opened_text("a\n\n\u2014 fuzz AAAA\n", input); });
  if (const auto bytes = journal::from_base64(input)) {
    require(journal::to_base64(*bytes) == input, "writes other base64");
  }
  attempt([&] {  // whatever is signed can be opened
    const std::string text = std::string(input) + "\n";
    require(journal::opened_text(journal::signed_note(text, key), verifier) == text,
            "does not open its own note");
  });
}

void proof(std::string_view input) {
  if (input.size() < 3) return;
  // A tree of up to 256 leaves, a leaf of it, and changes of its proof.
  const std::uint64_t size = static_cast<unsigned char>(input[0]) + std::uint64_t{1};
  const std::uint64_t index = static_cast<unsigned char>(input[1]) % size;
  const std::uint64_t first = static_cast<unsigned char>(input[2]) % (size + 1);
  std::vector<std::vector<journal::Hash>> levels(10);
  journal::Tree tree;
  journal::Tree begin;
  for (std::uint64_t leaf = 0; leaf < size; ++leaf) {
    const auto completed = tree.append(journal::leaf_hash(std::to_string(leaf)));
    for (std::size_t level = 0; level < completed.size(); ++level) {
      levels[level].push_back(completed[level]);
    }
    if (leaf + 1 == first) begin = tree;
  }
  const journal::ReadHash read = [&](unsigned level, std::uint64_t node) {
    return levels.at(level).at(static_cast<std::size_t>(node));
  };
  const journal::Hash leaf = journal::leaf_hash(std::to_string(index));
  auto path = journal::inclusion_proof(index, size, read);
  auto consistency = journal::consistency_proof(first, size, read);
  require(journal::proves_inclusion(leaf, index, size, path, tree.root()), "refuses a proof");
  require(journal::proves_consistency(first, begin.root(), size, tree.root(), consistency),
          "refuses a proof of consistency");
  const auto change = [&](std::vector<journal::Hash>& hashes) {
    const auto sound = hashes;
    for (std::size_t at = 3; at + 2 < input.size(); at += 3) {
      const auto place = static_cast<unsigned char>(input[at]);
      if (place == 255) {
        hashes.push_back(tree.root());
      } else if (place == 254 && !hashes.empty()) {
        hashes.pop_back();
      } else if (!hashes.empty()) {
        auto& hash = hashes[place % hashes.size()];
        hash[static_cast<unsigned char>(input[at + 1]) % hash.size()] ^=
            static_cast<std::uint8_t>(input[at + 2]);
      }
    }
    return hashes != sound;
  };
  if (change(path)) {
    require(!journal::proves_inclusion(leaf, index, size, path, tree.root()),
            "accepts a changed proof");
  }
  if (change(consistency)) {
    require(!journal::proves_consistency(first, begin.root(), size, tree.root(), consistency),
            "accepts a changed proof of consistency");
  }
}

}  // namespace comptroller::fuzz
