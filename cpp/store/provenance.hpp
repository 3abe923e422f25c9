#pragma once

#include <cstdint>

namespace comptroller::store {

// How the store learned of an identity. The values are stored.
enum class Provenance : std::uint8_t {
  own,      // its own line, or identities.put
  implied,  // only from its first control; a load of its controls recreates it
  changed,  // implied, then changed; its own line has not been loaded yet
};

}  // namespace comptroller::store
