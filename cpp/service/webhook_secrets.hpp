// The secrets of webhooks. They follow from a key of 32 bytes and from the random id of a secret,
// so that the store holds none of them.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "model/records/webhooks.hpp"
#include "service/call.hpp"
#include "store/webhooks.hpp"

namespace comptroller::service {

// Returns the key of the store; makes a missing one, unless the programs of the database share one.
// Throws unsupported if the store has no place for it, and unusable if they share another one.
std::string require_webhook_key(const Environment& environment, db::Connection& connection);
// Whether the programs of the database share a key, which is that of this program. A store in a
// file, or without a key, has nothing to share. Throws unusable if they share another one.
bool is_webhook_key_shared(const Environment& environment, db::Connection& connection);
// Makes the key that of all programs of a database. Throws unusable if these share another one.
void share_webhook_key(const Environment& environment, db::Connection& connection);

// The keys of one secret id.
class WebhookSigner {
 public:
  WebhookSigner(std::string_view key, std::string_view secret_id);

  std::string secret() const;      // whsec_...
  std::string public_key() const;  // whpk_...
  // Returns the signatures of a request, "v1,... v1a,...".
  std::string sign(std::string_view content) const;

 private:
  std::array<unsigned char, 32> secret_{};
  std::array<unsigned char, 32> public_key_{};
  std::array<unsigned char, 64> private_key_{};
};

// Returns the id of an event, which is the same in each attempt and for each webhook, and says
// nothing of the number of changes. Its time makes it differ from that of an event at the same
// position before an older backup was restored.
std::string event_id(std::string_view key, const store::FeedPosition& position,
                     Timestamp occurred_at);

}  // namespace comptroller::service
