// Runs a fuzz target without libFuzzer: with the files that are named, or with COUNT random inputs
// of a SEED. Usage: fuzz_page FILE... | fuzz_page -n COUNT [SEED]
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int count, char** arguments) {
  const auto run = [](const std::string& input) {
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  };
  if (count < 3 || std::string(arguments[1]) != "-n") {
    for (int i = 1; i < count; ++i) {
      std::ifstream file(arguments[i], std::ios::binary);
      run({std::istreambuf_iterator<char>(file), {}});
    }
    return 0;
  }
  std::mt19937_64 random(count > 3 ? std::strtoull(arguments[3], nullptr, 10) : 1);
  const long inputs = std::strtol(arguments[2], nullptr, 10);
  for (long i = 0; i < inputs; ++i) {
    std::string input(random() % 64, '\0');
    for (char& byte : input) {
      // Small numbers and all ones are more often valid or at a limit.
      byte = static_cast<char>(random() % 3 == 0   ? random()
                               : random() % 8 == 0 ? 0xFF
                                                   : random() % 16);
    }
    run(input);
  }
  std::printf("%ld inputs\n", inputs);
}
