// The head of the journal, and the check of all of it.
#pragma once

#include <optional>
#include <string>

#include "journal/checkpoint.hpp"
#include "service/service.hpp"

namespace comptroller::service {

// Returns the size and the root of the present tree. Throws insufficient_scope unless the principal
// may read the journal.
journal::Checkpoint journal_head(Service& service, const Principal& principal, std::string origin);

// Checks entries and records (store/journal_check.hpp), and that the tree begins with that of an
// earlier checkpoint. Returns {"ok", "size", "root", "findings"}. Throws insufficient_scope unless
// the principal may read as the operator.
std::string verify_journal(Service& service, const Principal& principal,
                           const std::optional<journal::Checkpoint>& earlier);

}  // namespace comptroller::service
