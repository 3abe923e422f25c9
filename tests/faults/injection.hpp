// Fails chosen calls of the system and allocations of this process.
//
// system_calls.cpp defines the functions of the C library that use files, so this program and the
// shared libraries that it loads, SQLite among them, call these instead. The faults are therefore
// below SQLite's VFS, the page reader and the builder of b-trees. allocations.cpp does the same for
// `new` and for SQLite's allocator.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace comptroller::faults {

enum class Call : std::uint8_t {
  open,
  status,
  read,
  write,
  truncate,
  synchronise,
  lock,
  map,
  name,
  remove,
  allocate,
  allocate_in_sqlite,
};
inline constexpr std::array call_names{"open", "status", "read", "write",  "truncate", "sync",
                                       "lock", "map",    "name", "remove", "new",      "sqlite"};

constexpr bool is_about_memory(Call call) {
  return call == Call::allocate || call == Call::allocate_in_sqlite;
}

enum class Effect : std::uint8_t {
  io_error,
  no_space,
  no_resource,  // descriptors, locks or memory
  partial,      // half of the bytes are transferred
  interrupted,
};
inline constexpr std::array effect_names{"I/O error", "no space", "no resource", "partial",
                                         "interrupted"};

struct Fault {
  Call call;
  Effect effect;
  int first = 1;              // of the calls of its kind, from 1
  bool is_permanent = false;  // strikes all later calls, too

  friend bool operator==(const Fault&, const Fault&) = default;
};
std::string to_string(const Fault& fault);

// Returns the faults of a call without their place.
std::vector<Fault> faults_of(Call call);

// Counts the calls of all threads until the end of the scope, and injects a fault. One at a time.
class Injection {
 public:
  explicit Injection(const std::optional<Fault>& fault = std::nullopt);
  ~Injection();
  Injection(const Injection&) = delete;
  Injection& operator=(const Injection&) = delete;

  // Valid until the next injection begins.
  static int count(Call call);
  static bool has_struck();
};

// The effect on the present call, if a fault strikes it. For the replaced functions.
std::optional<Effect> strike(Call call) noexcept;

// Makes SQLite's allocations countable. Call it before SQLite is used.
void replace_allocator_of_sqlite();

}  // namespace comptroller::faults
