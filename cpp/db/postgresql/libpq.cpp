#include "db/postgresql/libpq.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <mutex>
#include <utility>
#include <vector>

#include "model/error.hpp"

namespace comptroller::db::postgresql {

namespace {

constexpr int oldest_version = 140'000;  // has pipelines

std::mutex mutex;
std::string offered;

// The names of the system's library. Homebrew keeps it outside the folders that are searched.
constexpr const char* names[]{
    "libpq.so.5",
    "libpq.5.dylib",
    "/opt/homebrew/opt/libpq/lib/libpq.5.dylib",
    "/usr/local/opt/libpq/lib/libpq.5.dylib",
};

[[noreturn]] void throw_unavailable(const std::string& why) {
  throw Error(Code::unavailable,
              "PostgreSQL's client library libpq " + why +
                  "; install it with `pip install \"comptroller[postgres]\"`, or the system's "
                  "(Debian: libpq5, Homebrew: libpq), version 14 or newer");
}

std::vector<std::string> candidates() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): comptroller never changes the environment
  const char* const named = std::getenv("COMPTROLLER_LIBPQ");
  if (named != nullptr && *named != '\0') return {named};
  std::vector<std::string> paths;
  const std::lock_guard lock(mutex);
  if (!offered.empty()) paths.push_back(offered);
  paths.insert(paths.end(), std::begin(names), std::end(names));
  return paths;
}

// The library stays loaded, because its connections use it until the process ends.
Libpq load() {
  void* library = nullptr;
  std::string reason;
  for (const std::string& path : candidates()) {
    library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): the loader's message is of this thread
    const char* const message = ::dlerror();
    if (reason.empty() && message != nullptr) reason = message;
  }
  if (library == nullptr) throw_unavailable("was not found (" + reason + ")");
  Libpq functions{};
// NOLINTBEGIN(bugprone-macro-parentheses): a type
#define COMPTROLLER_LIBPQ_LOAD(member, name, result, parameters)                           \
  functions.member = reinterpret_cast<result(*) parameters>(::dlsym(library, "PQ" #name)); \
  if (functions.member == nullptr) throw_unavailable("is too old (it lacks PQ" #name ")");
  // NOLINTEND(bugprone-macro-parentheses)
  COMPTROLLER_LIBPQ(COMPTROLLER_LIBPQ_LOAD)
#undef COMPTROLLER_LIBPQ_LOAD
  if (functions.library_version() < oldest_version) throw_unavailable("is too old");
  return functions;
}

}  // namespace

void offer_libpq(std::string path) {
  const std::lock_guard lock(mutex);
  offered = std::move(path);
}

const Libpq& libpq() {
  static const Libpq functions = load();
  return functions;
}

}  // namespace comptroller::db::postgresql
