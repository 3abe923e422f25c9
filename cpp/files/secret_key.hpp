// A file with a random key, which only its owner may read.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace comptroller::files {

inline constexpr std::size_t secret_key_bytes = 32;

// Returns a new key.
std::string make_secret_key();

// Returns the key of a file; nullopt if the file is missing. Throws unusable if other users may
// read or change the file, or if it has another size.
std::optional<std::string> find_secret_key(const std::string& path);
// Returns the key of the file beside a store; creates a missing one, for the owner of the store.
// Of several processes that create it, all return the same key.
std::string read_secret_key(const std::string& path, const std::string& store);

}  // namespace comptroller::files
