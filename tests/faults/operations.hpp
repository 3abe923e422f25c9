// The operations into which faults are injected.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "subject.hpp"

namespace comptroller::faults {

struct Operation {
  std::string name;
  const std::string& (*original)();  // of the store's files; null: none
  // Runs the operation and returns what the caller gets.
  std::function<std::string(Subject&)> run;
  // Runs before faults are injected.
  std::function<void(Subject&)> prepare = [](Subject& subject) { subject.open(); };
  // Runs after the injection, if the operation leaves work to other writes.
  std::function<void(Subject&)> settle = [](Subject&) {};
  // Whether a failed operation may have stored parts: those that it has acknowledged.
  bool is_in_parts = false;
  // Only in the long run.
  bool is_long = false;
};

const std::vector<Operation>& operations();

}  // namespace comptroller::faults
