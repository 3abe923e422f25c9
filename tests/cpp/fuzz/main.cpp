// Runs the fuzz target that the environment variable FUZZ_TARGET names.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "fuzz/targets.hpp"

namespace {

using Target = void (*)(std::string_view);

Target find_target() {
  using namespace comptroller::fuzz;
  constexpr std::pair<std::string_view, Target> targets[] = {
      {"address", address}, {"amount", amount},       {"call", call},           {"csv", csv},
      {"cursor", cursor},   {"documents", documents}, {"load", load},           {"note", note},
      {"proof", proof},     {"request", request},     {"timestamp", timestamp},
  };
  const char* const name = std::getenv("FUZZ_TARGET");
  for (const auto& [known, target] : targets) {
    if (name != nullptr && known == name) return target;
  }
  std::fputs("FUZZ_TARGET must be one of:", stderr);
  for (const auto& target : targets) std::fprintf(stderr, " %s", target.first.data());
  std::fputs("\n", stderr);
  std::exit(2);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Target target = find_target();
  target({reinterpret_cast<const char*>(data), size});
  return 0;
}
