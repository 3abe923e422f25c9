// Runs a fuzz target without libFuzzer: with the files that are named, or with COUNT inputs of a
// SEED, which are changes of the files, if some are named.
// Usage: fuzz_page FILE... | fuzz_page -n COUNT SEED [FILE...]
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Random = std::mt19937_64;

std::string read_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Small numbers and all ones are more often valid or at a limit.
char any_byte(Random& random) {
  return static_cast<char>(random() % 3 == 0 ? random() : random() % 8 == 0 ? 0xFF : random() % 16);
}

std::string any_input(Random& random) {
  std::string input(random() % 64, '\0');
  for (char& byte : input) byte = any_byte(random);
  return input;
}

// Replaces, removes, repeats or inserts some bytes; also those of another file.
std::string change(std::string input, const std::vector<std::string>& files, Random& random) {
  for (auto changes = 1 + random() % 4; changes > 0; --changes) {
    const std::size_t at = random() % (input.size() + 1);
    const std::size_t size = random() % 16;
    const std::string& other = files[random() % files.size()];
    switch (random() % 6) {
      case 0:
        input.erase(at, size);
        break;
      case 1:
        input.insert(at, input.substr(at, size));
        break;
      case 2:
        input.insert(at, other, random() % (other.size() + 1), random() % 64);
        break;
      case 3:
        if (at < input.size()) input[at] ^= static_cast<char>(1U << random() % 8);
        break;
      case 4:
        input.insert(at, 1, static_cast<char>(' ' + random() % 95));
        break;
      default:
        if (at < input.size()) input[at] = any_byte(random);
    }
  }
  return input;
}

}  // namespace

int main(int count, char** arguments) {
  const bool is_random = count >= 4 && std::string(arguments[1]) == "-n";
  const auto run = [](const std::string& input) {
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  };
  std::vector<std::string> files;
  for (int i = is_random ? 4 : 1; i < count; ++i) files.push_back(read_file(arguments[i]));
  if (!is_random) {
    for (const std::string& file : files) run(file);
    return 0;
  }
  // The input of a failure, for a file of the corpus.
  const auto last = std::filesystem::temp_directory_path() / "comptroller-fuzz-input";
  Random random(std::strtoull(arguments[3], nullptr, 10));
  const long inputs = std::strtol(arguments[2], nullptr, 10);
  for (long i = 0; i < inputs; ++i) {
    const std::string input =
        files.empty() ? any_input(random) : change(files[random() % files.size()], files, random);
    std::ofstream(last, std::ios::binary) << input;
    run(input);
  }
  std::printf("%ld inputs\n", inputs);
}
