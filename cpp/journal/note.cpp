#include "journal/note.hpp"

#include <sodium.h>

#include <algorithm>
#include <optional>

#include "journal/base64.hpp"
#include "journal/hash.hpp"
#include "journal/lines.hpp"
#include "model/error.hpp"
#include "model/text.hpp"
#include "model/wording.hpp"

namespace comptroller::journal {

namespace {

constexpr std::string_view signature_prefix = "\u2014 ";  // an em dash
constexpr std::size_t id_bytes = 4;
constexpr char ed25519 = 1;  // the type of a key, before its bytes
// Unicode's White_Space without control characters, which a line cannot contain, except U+0085.
constexpr std::string_view spaces[] = {" ",      "\u0085", "\u00a0", "\u1680", "\u2000",
                                       "\u2001", "\u2002", "\u2003", "\u2004", "\u2005",
                                       "\u2006", "\u2007", "\u2008", "\u2009", "\u200a",
                                       "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"};

const unsigned char* data_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

bool is_key_name(std::string_view name) {
  const auto is_in_name = [name](std::string_view text) {
    return name.find(text) != std::string_view::npos;
  };
  return !name.empty() && count_characters(name) && !is_in_name("+") &&
         std::ranges::none_of(spaces, is_in_name);
}

bool is_lines(std::string_view text) {
  if (!text.ends_with('\n')) return false;
  while (const auto line = take_line(text)) {
    if (!count_characters(*line)) return false;
  }
  return true;
}

// A public key. `encoded` is its type, then its bytes.
struct Verifier {
  std::string name;
  std::string encoded;

  // Not a protection against other keys, only a way to tell keys apart.
  std::string id() const {
    return std::string(bytes_of(sha256(name + "\n" + encoded)).substr(0, id_bytes));
  }
  std::string text() const {
    std::array<char, 2 * id_bytes + 1> digits{};
    sodium_bin2hex(digits.data(), digits.size(), data_of(id()), id_bytes);
    return name + "+" + digits.data() + "+" + to_base64(encoded);
  }
  bool verifies(std::string_view text, std::string_view signature) const {
    return signature.size() == crypto_sign_BYTES &&
           crypto_sign_verify_detached(data_of(signature), data_of(text), text.size(),
                                       data_of(encoded) + 1) == 0;
  }
};

struct KeyPair {
  explicit KeyPair(const SigningKey& key) {
    if (!is_key_name(key.name)) {
      throw Error::invalid("name", "must be UTF-8 without spaces, control characters and \"+\"");
    }
    std::array<unsigned char, crypto_sign_PUBLICKEYBYTES> public_key{};
    crypto_sign_seed_keypair(public_key.data(), secret.data(), key.seed.data());
    verifier = {.name = key.name, .encoded = std::string(1, ed25519)};
    verifier.encoded.append(public_key.begin(), public_key.end());
  }

  Verifier verifier;
  std::array<unsigned char, crypto_sign_SECRETKEYBYTES> secret{};
};

Verifier read_verifier(std::string_view text) {
  const std::size_t name_end = text.find('+');
  const std::size_t id_end = text.find('+', name_end + 1);
  if (name_end != std::string_view::npos && id_end != std::string_view::npos) {
    const auto encoded = from_base64(text.substr(id_end + 1));
    Verifier verifier{.name = std::string(text.substr(0, name_end)),
                      .encoded = encoded.value_or("")};
    if (is_key_name(verifier.name) && verifier.encoded.size() == 1 + crypto_sign_PUBLICKEYBYTES &&
        verifier.encoded.front() == ed25519 && verifier.text() == text) {
      return verifier;
    }
  }
  throw Error::invalid(
      "verifier_key",
      "must be an Ed25519 key \"<name>+<id>+<base64>\" whose id is that of its name and bytes");
}

struct Signature {
  std::string_view name;
  std::string bytes;  // the id of the key, then the signature
};

Signature read_signature(std::string_view line, std::size_t number) {
  if (line.starts_with(signature_prefix)) {
    line.remove_prefix(signature_prefix.size());
    const std::string_view name = line.substr(0, line.find(' '));
    if (is_key_name(name) && name.size() < line.size()) {
      auto bytes = from_base64(line.substr(name.size() + 1));
      if (bytes && bytes->size() > id_bytes) return {.name = name, .bytes = *std::move(bytes)};
    }
  }
  throw Error::invalid("note", "signature " + std::to_string(number) +
                                   " is malformed; must be \"\u2014 <name> <base64>\"");
}

// Returns the first signature by the key in these lines.
std::optional<std::string> find_signature(std::string_view lines, const Verifier& verifier) {
  std::optional<std::string> found;
  const std::string id = verifier.id();
  std::size_t number = 0;
  while (const auto line = take_line(lines)) {
    if (++number > max_signatures) {
      throw Error::invalid("note",
                           "must have at most " + std::to_string(max_signatures) + " signatures");
    }
    const Signature signature = read_signature(*line, number);
    if (!found && signature.name == verifier.name && signature.bytes.starts_with(id)) {
      found = signature.bytes.substr(id_bytes);
    }
  }
  return found;
}

}  // namespace

std::string verifier_key(const SigningKey& key) {
  return KeyPair(key).verifier.text();
}

std::string signed_note(std::string_view text, const SigningKey& key) {
  const KeyPair pair(key);
  if (!is_lines(text)) {
    throw Error::invalid("text", "must be lines of UTF-8 that end with a newline");
  }
  std::string signature = pair.verifier.id();
  signature.resize(id_bytes + crypto_sign_BYTES);
  crypto_sign_detached(reinterpret_cast<unsigned char*>(signature.data()) + id_bytes, nullptr,
                       data_of(text), text.size(), pair.secret.data());
  std::string note(text);
  note.append("\n").append(signature_prefix).append(key.name).append(" ");
  return note.append(to_base64(signature)).append("\n");
}

std::string opened_text(std::string_view note, std::string_view verifier_key) {
  const Verifier verifier = read_verifier(verifier_key);
  if (note.size() > max_note_bytes) {
    throw Error::invalid("note", "must be at most " + std::to_string(max_note_bytes) + " bytes");
  }
  if (!is_lines(note)) {
    throw Error::invalid("note", "must be lines of UTF-8 that end with a newline");
  }
  const std::size_t separator = note.rfind("\n\n");
  if (separator == std::string_view::npos) {
    throw Error::invalid("note", "must be a text, an empty line and signatures");
  }
  const std::string_view text = note.substr(0, separator + 1);
  const auto signature = find_signature(note.substr(separator + 2), verifier);
  if (!signature) throw Error::invalid("note", "has no signature by " + shorten(verifier.name));
  if (!verifier.verifies(text, *signature)) {
    throw Error::invalid("note",
                         "the signature by " + shorten(verifier.name) + " does not match the text");
  }
  return std::string(text);
}

}  // namespace comptroller::journal
