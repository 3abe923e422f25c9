#include "injection.hpp"

#include <algorithm>
#include <atomic>

namespace comptroller::faults {

namespace {

struct Kind {
  Call call;
  std::vector<Effect> effects;
};

const std::vector<Kind>& kinds() {
  using enum Effect;
  static const std::vector<Kind> all{{Call::open, {io_error, no_space, no_resource, interrupted}},
                                     {Call::status, {io_error}},
                                     {Call::read, {io_error, partial, interrupted}},
                                     {Call::write, {io_error, no_space, partial, interrupted}},
                                     {Call::truncate, {io_error, no_space, interrupted}},
                                     {Call::synchronise, {io_error, no_space, interrupted}},
                                     {Call::lock, {io_error, no_resource, interrupted}},
                                     {Call::map, {no_resource}},
                                     {Call::name, {io_error, no_space}},
                                     {Call::remove, {io_error}},
                                     {Call::allocate, {no_resource}},
                                     {Call::allocate_in_sqlite, {no_resource}}};
  return all;
}

std::atomic<bool> is_counting = false;
std::atomic<bool> is_injecting = false;
std::atomic<bool> struck = false;
Fault injected{Call::open, Effect::io_error};  // changed only while nothing is injected
std::array<std::atomic<int>, call_names.size()> counts;

std::atomic<int>& count_of(Call call) {
  return counts[static_cast<std::size_t>(call)];  // NOLINT: an enumerator
}

// A system that interrupts every call, or locks nothing for a while, only makes programs wait.
bool may_be_permanent(const Fault& fault) {
  return fault.effect != Effect::interrupted &&
         !(fault.call == Call::lock && fault.effect == Effect::no_resource);
}

}  // namespace

std::string to_string(const Fault& fault) {
  return std::string(call_names.at(static_cast<std::size_t>(fault.call))) + " " +
         std::to_string(fault.first) + (fault.is_permanent ? " and later: " : ": ") +
         effect_names.at(static_cast<std::size_t>(fault.effect));
}

std::vector<Fault> faults_of(Call call) {
  std::vector<Fault> faults;
  for (const Effect effect : std::ranges::find(kinds(), call, &Kind::call)->effects) {
    Fault fault{call, effect};
    faults.push_back(fault);
    if (!may_be_permanent(fault)) continue;
    fault.is_permanent = true;
    faults.push_back(fault);
  }
  return faults;
}

Injection::Injection(const std::optional<Fault>& fault) {
  for (std::atomic<int>& count : counts) count = 0;
  struck = false;
  if (fault) injected = *fault;
  is_injecting = fault.has_value();
  is_counting = true;
}

Injection::~Injection() {
  is_counting = false;
}

int Injection::count(Call call) {
  return count_of(call);
}

bool Injection::has_struck() {
  return struck;
}

std::optional<Effect> strike(Call call) noexcept {
  if (!is_counting) return std::nullopt;
  const int number = ++count_of(call);
  if (!is_injecting || injected.call != call) return std::nullopt;
  const bool is_meant = injected.is_permanent ? number >= injected.first : number == injected.first;
  if (!is_meant) return std::nullopt;
  struck = true;
  return injected.effect;
}

}  // namespace comptroller::faults
