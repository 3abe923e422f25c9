// Page cursors: the position at which a page ended, encrypted and authenticated with the store's
// secret. A client can neither read a cursor, whose key counts the records of all customers, nor
// forge it or use it with another list.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "store/merge.hpp"

namespace comptroller::service {

inline constexpr std::size_t secret_bytes = 32;
using Secret = std::array<unsigned char, secret_bytes>;

// The keys of a store's cursors, derived from its secret.
struct CursorKeys {
  explicit CursorKeys(const Secret& secret);

  std::array<unsigned char, 16> nonces{};
  Secret encryption{};
};

// `list` identifies the list: operation, customer, filters and order. Equal positions of a list
// have equal cursors.
std::string seal_cursor(const CursorKeys& keys, std::string_view list,
                        const store::Position& position);
// The same, but equal positions get different cursors, so that a client cannot compare positions.
std::string seal_unlinkable_cursor(const CursorKeys& keys, std::string_view list,
                                   const store::Position& position);
// Returns the position of a cursor of the same list; nullopt for an empty cursor, which is the
// first page. Throws invalid_cursor, which names the parameter, for a text that neither of them
// returned for this list.
std::optional<store::Position> open_cursor(const CursorKeys& keys, std::string_view list,
                                           std::string_view text,
                                           std::string_view parameter = "page_cursor");

}  // namespace comptroller::service
