// Documents that the servers of a database share because they have no files in common: the
// registered clients, the keys that sign tokens, and the public key of checkpoints. The caller
// hashes or encrypts what is secret.
#pragma once

#include <optional>
#include <string>

#include "service/service.hpp"

namespace comptroller::service {

// Both are for the operator, and throw invalid_request unless the name is "clients", "keys" or
// "journal key".

// Returns nullopt if the document was never stored.
std::optional<std::string> read_shared(Service& service, const Principal& principal,
                                       const std::string& name);

// Stores a document if the stored one is still `before`; returns whether it was.
bool replace_shared(Service& service, const Principal& principal, const std::string& name,
                    const std::optional<std::string>& before, const std::string& after);

// Removes all documents, for a store whose clients and keys are in files beside it.
void remove_shared(db::Connection& connection);

}  // namespace comptroller::service
