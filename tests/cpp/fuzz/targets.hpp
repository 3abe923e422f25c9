// Fuzz targets: each takes any bytes, and throws if a property of the core does not hold.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace comptroller::fuzz {

// Throws unless the condition is true.
inline void require(bool is_true, const std::string& what) {
  if (!is_true) throw std::logic_error(what);
}

// Values (values.cpp).
void amount(std::string_view input);
void timestamp(std::string_view input);
void address(std::string_view input);
void csv(std::string_view input);

// Requests of an operator and of a client to a store with records (requests.cpp).
void call(std::string_view input);
void request(std::string_view input);
void cursor(std::string_view input);

// Files to load (loads.cpp).
void documents(std::string_view input);
void load(std::string_view input);

// Signed notes, and proofs of inclusion (journal.cpp).
void note(std::string_view input);
void proof(std::string_view input);

}  // namespace comptroller::fuzz
