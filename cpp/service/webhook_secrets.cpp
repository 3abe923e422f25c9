#include "service/webhook_secrets.hpp"

#include <sodium.h>

#include "journal/base64.hpp"
#include "model/error.hpp"
#include "model/hexadecimal.hpp"

namespace comptroller::service {

namespace {

constexpr std::size_t id_bytes = 16;

static_assert(crypto_sign_PUBLICKEYBYTES == 32 && crypto_sign_SECRETKEYBYTES == 64);

const unsigned char* data_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
template <std::size_t Size>
std::string_view text_of_bytes(const std::array<unsigned char, Size>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

using Digest = std::array<unsigned char, crypto_auth_hmacsha256_BYTES>;

Digest hmac(std::string_view key, std::string_view text) {
  // Of a key of any length, as RFC 2104 defines it; crypto_auth_hmacsha256 takes 32 bytes.
  if (key.size() != crypto_auth_hmacsha256_KEYBYTES) {
    throw Error(Code::unusable, "the key of the webhooks does not have 32 bytes");
  }
  Digest digest{};
  crypto_auth_hmacsha256(digest.data(), data_of(text), text.size(), data_of(key));
  return digest;
}

std::string fingerprint_of(std::string_view key) {
  return std::string(text_of_bytes(hmac(key, "fingerprint")));
}

// Returns the fingerprint of the key that the programs of a database share; nullopt for a file.
std::optional<std::string> shared_fingerprint(db::Connection& connection) {
  if (!connection.dialect().is_remote) return std::nullopt;
  db::Query shared =
      connection.query("SELECT value FROM secrets WHERE name = 'webhook key fingerprint'");
  if (!shared.step()) return std::nullopt;
  return std::string(shared.column(0).bytes);
}

}  // namespace

std::string require_webhook_key(const Environment& environment, db::Connection& connection) {
  if (!environment.webhook_key) {
    throw Error(
        Code::unsupported,
        "this store has no key for webhooks; a database needs a state folder (state, --state)");
  }
  const std::optional<std::string> shared = shared_fingerprint(connection);
  std::optional<std::string> key = environment.webhook_key(!shared);
  if (key && (!shared || *shared == fingerprint_of(*key))) return *std::move(key);
  throw Error(Code::unusable,
              std::string("the state folder ") + (key ? "has another" : "lacks the") +
                  " key for webhooks " + (key ? "than" : "of") +
                  " the other programs of this database; copy the state folder of one of them");
}

bool is_webhook_key_shared(const Environment& environment, db::Connection& connection) {
  if (!environment.webhook_key || !connection.dialect().is_remote) return true;
  if (!shared_fingerprint(connection)) return false;
  require_webhook_key(environment, connection);
  return true;
}

void share_webhook_key(const Environment& environment, db::Connection& connection) {
  connection.run(
      "INSERT INTO secrets (name, value) VALUES ('webhook key fingerprint', ?)"
      " ON CONFLICT DO NOTHING",
      db::Value::blob(fingerprint_of(require_webhook_key(environment, connection))));
  require_webhook_key(environment, connection);
}

WebhookSigner::WebhookSigner(std::string_view key, std::string_view secret_id)
    : secret_(hmac(key, "v1." + std::string(secret_id))) {
  const Digest seed = hmac(key, "v1a." + std::string(secret_id));
  crypto_sign_seed_keypair(public_key_.data(), private_key_.data(), seed.data());
}

std::string WebhookSigner::secret() const {
  return "whsec_" + journal::to_base64(text_of_bytes(secret_));
}

std::string WebhookSigner::public_key() const {
  return "whpk_" + journal::to_base64(text_of_bytes(public_key_));
}

std::string WebhookSigner::sign(std::string_view content) const {
  std::array<unsigned char, crypto_sign_BYTES> signature{};
  crypto_sign_detached(signature.data(), nullptr, data_of(content), content.size(),
                       private_key_.data());
  return "v1," + journal::to_base64(text_of_bytes(hmac(text_of_bytes(secret_), content))) +
         " v1a," + journal::to_base64(text_of_bytes(signature));
}

std::string event_id(std::string_view key, const store::FeedPosition& position,
                     Timestamp occurred_at) {
  const Digest digest = hmac(
      key, "id." + std::to_string(position.sequence) + '.' + std::to_string(position.part) + '.' +
               std::to_string(position.key) + '.' + std::to_string(occurred_at.microseconds));
  return "msg_" + text_of(HexadecimalDigits{text_of_bytes(digest).substr(0, id_bytes)});
}

}  // namespace comptroller::service
