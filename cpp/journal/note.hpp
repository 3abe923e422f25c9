// Signed notes with Ed25519 keys (C2SP signed-note). The Go package golang.org/x/mod/sumdb/note
// reads and writes the same texts.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace comptroller::journal {

// A longer note, or one with more signatures, is rejected.
inline constexpr std::size_t max_note_bytes = 1'000'000;
inline constexpr std::size_t max_signatures = 100;

struct SigningKey {
  std::string name;                      // without spaces and "+"
  std::array<unsigned char, 32> seed{};  // the private key of RFC 8032
};

// Returns the public key as text, "<name>+<id>+<base64>", with which others verify notes. Throws
// invalid_request if the name is not one of a key.
std::string verifier_key(const SigningKey& key);

// Returns the text, an empty line and a signature. The text must be lines of UTF-8 without other
// control characters; the last ends with a newline. Throws invalid_request otherwise.
std::string signed_note(std::string_view text, const SigningKey& key);

// Returns the text of a note with a correct signature by the key; signatures of other keys are
// ignored. Throws invalid_request that names what is malformed or wrong.
std::string opened_text(std::string_view note, std::string_view verifier_key);

}  // namespace comptroller::journal
