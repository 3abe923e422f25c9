// Injects a fault into each call of each operation, and checks that the operation had its whole
// effect or none, that the store is sound, and that it works on without being opened again.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <random>
#include <system_error>

#include "injection.hpp"
#include "operations.hpp"
#include "service/maintenance.hpp"

namespace comptroller::faults {
namespace {

using Clock = std::chrono::steady_clock;

// The number of faults of each operation, unless this is a long run.
constexpr int few = 2;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
  return value == nullptr ? "" : value;
}

// The faults that a run injects: a few of each operation, or in a long run, which begins with the
// variable FAULT_SECONDS, as many as there is time for.
struct Choice {
  std::optional<std::chrono::seconds> time;  // for each operation
  std::string calls;                         // FAULT_CALLS: "system", "memory" or both
  std::size_t share = 0;                     // FAULT_SHARE, "0/2": of which process of how many
  std::size_t shares = 1;

  static Choice of_variables() {
    Choice choice;
    choice.calls = variable("FAULT_CALLS");
    if (const std::string seconds = variable("FAULT_SECONDS"); !seconds.empty()) {
      choice.time = std::chrono::seconds(std::stoi(seconds));
    }
    if (const std::string share = variable("FAULT_SHARE"); !share.empty()) {
      choice.share = std::stoul(share);
      choice.shares = std::stoul(share.substr(share.find('/') + 1));
    }
    return choice;
  }

  bool includes(Call call) const {
    return calls.empty() || (calls == "memory") == is_about_memory(call);
  }
};

// What an operation does without faults.
struct Undisturbed {
  bool begins_open = false;
  std::string answer;
  Digest before;
  Digest after;
  std::string files_before;
  std::string files_after;
  std::array<int, call_names.size()> calls{};
};

std::unique_ptr<Subject> prepare(const Operation& operation) {
  auto subject = operation.original == nullptr ? std::make_unique<Subject>()
                                               : std::make_unique<Subject>(operation.original());
  operation.prepare(*subject);
  return subject;
}

Undisturbed run_undisturbed(const Operation& operation) {
  Undisturbed result;
  {
    const auto untouched = prepare(operation);
    result.begins_open = untouched->is_open();
    if (result.begins_open) result.before = digest_of(untouched->path());
    untouched->close();
    result.files_before = untouched->files();
  }
  const auto subject = prepare(operation);
  {
    const Injection counting;
    result.answer = operation.run(*subject);
  }
  for (std::size_t call = 0; call < result.calls.size(); ++call) {
    result.calls.at(call) = Injection::count(static_cast<Call>(call));
  }
  if (!subject->is_open()) subject->open();
  operation.settle(*subject);
  result.after = digest_of(subject->path());
  subject->close();
  result.files_after = subject->files();
  return result;
}

// Whether an exception reaches a caller as `unavailable`, status 503 (bindings/errors.cpp).
bool is_unavailable(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return error.code() == Code::unavailable;
  } catch (const std::system_error& error) {
    return Error::code_of_system(error.code().value()) == Code::unavailable;
  } catch (const std::bad_alloc&) {
    return true;
  } catch (...) {
    return false;
  }
}

std::string message_of(const std::exception_ptr& failure) {
  try {
    if (failure) std::rethrow_exception(failure);
  } catch (const Error& error) {
    return std::string(problem(error.code()).code) + ": " + error.detail();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

bool is_about_writing(const Fault& fault) {
  return fault.call == Call::write || fault.call == Call::truncate ||
         fault.call == Call::synchronise;
}

void check_that_it_reads(Subject& subject) {
  CHECK_NOTHROW(subject.store().count(subject.provider(), "claims.list"));
  CHECK_NOTHROW(subject.store().count(subject.provider(), "identities.list"));
}

void check_parts(Subject& subject, const Fault& fault) {
  service::ServiceFixture& store = subject.store();
  const Subject::Acknowledged& acknowledged = subject.acknowledged;
  const std::uint64_t claims = store.count(subject.provider(), "claims.list");
  const std::uint64_t identities =
      store.code(subject.provider(), "identities.get", {{"id", "beside"}}).empty() ? 1 : 0;
  // To acknowledge a part that was stored needs memory.
  const bool may_be_silent = fault.call == Call::allocate;
  CHECK((claims == acknowledged.claims || (may_be_silent && claims > acknowledged.claims)));
  CHECK((identities == acknowledged.identities || (may_be_silent && identities == 1)));
}

void check_content(Subject& subject, const Operation& operation, const Undisturbed& undisturbed,
                   const Fault& fault, bool has_failed) {
  if (operation.is_in_parts) return check_parts(subject, fault);
  Digest expected = has_failed ? undisturbed.before : undisturbed.after;
  Digest stored = digest_of(subject.path());
  if (!undisturbed.begins_open) {
    expected.erase("secrets");  // random in a new store
    stored.erase("secrets");
  }
  CHECK(difference(expected, stored) == "");
}

// The store works on, and is sound.
void check_store(Subject& subject) {
  check_that_it_reads(subject);
  CHECK_NOTHROW(subject.store().put_identity("after", "acme"));
  CHECK(subject.store().code(subject.provider(), "identities.get", {{"id", "after"}}) == "");
  const service::Json soundness(service::check(subject.service(), subject.provider()));
  CHECK(soundness.at("/findings") == "[]");
}

// Runs an operation with a fault; returns whether the operation failed.
bool inject(const Operation& operation, const Undisturbed& undisturbed, const Fault& fault) {
  const auto subject = prepare(operation);
  std::string answer;
  std::exception_ptr failure;
  {
    const Injection injection(fault);
    try {
      answer = operation.run(*subject);
    } catch (...) {
      failure = std::current_exception();
    }
    if (fault.is_permanent && is_about_writing(fault) && subject->is_open()) {
      check_that_it_reads(*subject);
    }
  }
  const std::string message = message_of(failure);
  CAPTURE(message);
  if (failure) {
    CHECK(is_unavailable(failure));
  } else {
    CHECK(answer == undisturbed.answer);
  }
  CHECK_NOTHROW(subject->is_open() ? void() : subject->open());
  if (!subject->is_open()) return true;
  CHECK_NOTHROW(operation.settle(*subject));
  // If a store could not be opened, it was opened now.
  const bool is_undone = failure && undisturbed.begins_open;
  check_content(*subject, operation, undisturbed, fault, is_undone);
  check_store(*subject);
  const Digest open = digest_of(subject->path());
  subject->close();
  if (fault.call != Call::remove) {
    CHECK(subject->files() == (is_undone ? undisturbed.files_before : undisturbed.files_after));
  }
  CHECK(difference(open, digest_of(subject->path())) == "");
  return failure != nullptr;
}

// Returns the chosen faults of an operation. Their order mixes kinds and places.
std::vector<Fault> faults_of(const Undisturbed& undisturbed, const Choice& choice) {
  std::vector<std::vector<Fault>> of_kinds;
  std::mt19937 random;  // NOLINT: the same order in each run
  for (std::size_t call = 0; call < call_names.size(); ++call) {
    if (!choice.includes(static_cast<Call>(call))) continue;
    for (Fault fault : faults_of(static_cast<Call>(call))) {
      std::vector<Fault>& places = of_kinds.emplace_back();
      for (fault.first = 1; fault.first <= undisturbed.calls.at(call); ++fault.first) {
        places.push_back(fault);
      }
      std::ranges::shuffle(places, random);
    }
  }
  std::ranges::shuffle(of_kinds, random);
  std::vector<Fault> faults;
  std::size_t position = 0;
  for (std::size_t round = 0, before = 1; before != position; ++round) {
    before = position;
    for (const auto& places : of_kinds) {
      if (round >= places.size()) continue;
      if (position++ % choice.shares == choice.share) faults.push_back(places[round]);
    }
  }
  return faults;
}

// Counts of a run.
struct Tally {
  int injected = 0;
  int struck = 0;
  int failed = 0;

  void inject_next(const Operation& operation, const Undisturbed& undisturbed, const Fault& fault) {
    const std::string described = operation.name + ", " + to_string(fault);
    CAPTURE(described);
    ++injected;
    failed += inject(operation, undisturbed, fault) ? 1 : 0;
    struck += Injection::has_struck() ? 1 : 0;
  }
};

TEST_CASE(
    "an operation that a fault strikes has its whole effect or none, and the store works on") {
  const Choice choice = Choice::of_variables();
  for (const Operation& operation : operations()) {
    if (operation.is_long && !choice.time) continue;
    SUBCASE(operation.name.c_str()) {
      const Undisturbed undisturbed = run_undisturbed(operation);
      const std::vector<Fault> faults = faults_of(undisturbed, choice);
      const auto end = Clock::now() + choice.time.value_or(std::chrono::seconds(0));
      Tally tally;
      for (const Fault& fault : faults) {
        if (choice.time ? Clock::now() >= end : tally.injected == few) break;
        tally.inject_next(operation, undisturbed, fault);
      }
      CHECK((faults.empty() || tally.struck > 0));
      if (!choice.time) continue;
      std::cout << "faults\t" << operation.name << '\t' << faults.size() << '\t' << tally.injected
                << '\t' << tally.struck << '\t' << tally.failed << std::endl;
    }
  }
}

TEST_CASE("faults that earlier versions handled wrongly, at several of the calls of an operation") {
  struct Known {
    const char* operation;
    Fault fault;
    int places = few;
  };
  using enum Effect;
  const Known all[]{
      // The next opening took the new store for a copy without its log.
      {"create a store", {.call = Call::write, .effect = io_error}},
      // The connection kept its snapshot, and each later read with it failed.
      {"list with statements",
       {.call = Call::allocate_in_sqlite, .effect = no_resource, .is_permanent = true}},
      // The error said that the store is damaged.
      {"replay a key", {.call = Call::read, .effect = io_error}},
      {"open", {.call = Call::read, .effect = io_error}},
      // The process ended.
      {"load in parts", {.call = Call::allocate, .effect = no_resource, .is_permanent = true}},
      // The error was not a temporary one.
      {"create a control", {.call = Call::lock, .effect = no_resource}},
      {"open", {.call = Call::open, .effect = no_resource}},
      // Each later write was refused, because the file was not known.
      {"open", {.call = Call::status, .effect = io_error}},
      // Others could read the file that replaced a private one.
      {"export", {.call = Call::status, .effect = io_error}},
      // The process ended.
      {"check", {.call = Call::allocate, .effect = no_resource, .is_permanent = true}},
      // The operation failed, but its file was there.
      {"back up", {.call = Call::synchronise, .effect = io_error}},
      {"export", {.call = Call::synchronise, .effect = io_error}},
      {"export to a new file", {.call = Call::synchronise, .effect = io_error}},
      {"make a key", {.call = Call::synchronise, .effect = io_error}},
      // Each later write was refused, because the log was open only for reading.
      {"open after a kill", {.call = Call::open, .effect = io_error}, 20},
      // The error was not a temporary one.
      {"back up", {.call = Call::status, .effect = io_error}},
      {"create a store", {.call = Call::open, .effect = io_error}, 20},
      // The load was stored, and failed.
      {"load with a private copy",
       {.call = Call::lock, .effect = io_error, .is_permanent = true},
       20},
  };
  for (const auto& [name, fault, places] : all) {
    const auto operation = std::ranges::find(operations(), name, &Operation::name);
    const Undisturbed undisturbed = run_undisturbed(*operation);
    const int calls = undisturbed.calls.at(static_cast<std::size_t>(fault.call));
    Tally tally;
    Fault next = fault;
    for (; next.first <= calls; next.first += std::max(1, calls / places)) {
      tally.inject_next(*operation, undisturbed, next);
    }
    CHECK(tally.struck > 0);
  }
}

}  // namespace
}  // namespace comptroller::faults
