// Page cursors: the position at which a page ended, sealed with the store's secret so that a cursor
// cannot be forged, changed, or used with another list.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "store/listing.hpp"

namespace comptroller::service {

inline constexpr std::size_t secret_bytes = 32;
using Secret = std::array<unsigned char, secret_bytes>;

// A BLAKE2b hash of 16 bytes, keyed by `secret`.
using Seal = std::array<unsigned char, 16>;
Seal seal(const Secret& secret, std::string_view bytes);

// `list` identifies the list: operation, customer, filters and order.
std::string seal_cursor(const Secret& secret, std::string_view list,
                        const store::Position& position);
// Returns the position of a cursor of the same list; nullopt for an empty cursor, which is the
// first page. Throws invalid_cursor for a text that seal_cursor did not return for this list.
std::optional<store::Position> open_cursor(const Secret& secret, std::string_view list,
                                           std::string_view cursor);

}  // namespace comptroller::service
