#include "model/keccak.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace comptroller {

namespace {

// The state is 25 lanes of 64 bits, lane (x, y) at x + 5 y.
using State = std::array<std::uint64_t, 25>;

constexpr std::size_t lane_bytes = 8;
constexpr std::size_t rate_bytes = 136;  // 1600 bits less twice the 256 of the digest

constexpr std::array<std::uint64_t, 24> round_constants{
    0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000,
    0x000000000000808b, 0x0000000080000001, 0x8000000080008081, 0x8000000000008009,
    0x000000000000008a, 0x0000000000000088, 0x0000000080008009, 0x000000008000000a,
    0x000000008000808b, 0x800000000000008b, 0x8000000000008089, 0x8000000000008003,
    0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a,
    0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008};

// Rho and pi permute the lanes in one cycle from lane 1: the target lane and rotation of each step.
constexpr std::array<std::size_t, 24> cycle{10, 7,  11, 17, 18, 3, 5,  16, 8,  21, 24, 4,
                                            15, 23, 19, 13, 12, 2, 20, 14, 22, 9,  6,  1};
constexpr std::array<int, 24> rotations{1,  3,  6,  10, 15, 21, 28, 36, 45, 55, 2,  14,
                                        27, 41, 56, 8,  25, 43, 62, 18, 39, 61, 20, 44};

void permute(State& state) {
  std::array<std::uint64_t, 5> lanes{};
  for (const std::uint64_t constant : round_constants) {
    // Theta.
    for (std::size_t x = 0; x < 5; ++x) {
      lanes[x] = state[x] ^ state[x + 5] ^ state[x + 10] ^ state[x + 15] ^ state[x + 20];
    }
    for (std::size_t x = 0; x < 5; ++x) {
      const std::uint64_t change = lanes[(x + 4) % 5] ^ std::rotl(lanes[(x + 1) % 5], 1);
      for (std::size_t row = 0; row < state.size(); row += 5) state[row + x] ^= change;
    }
    // Rho and pi.
    std::uint64_t carried = state[1];
    for (std::size_t step = 0; step < cycle.size(); ++step) {
      carried = std::exchange(state[cycle[step]], std::rotl(carried, rotations[step]));
    }
    // Chi.
    for (std::size_t row = 0; row < state.size(); row += 5) {
      std::copy_n(&state[row], 5, lanes.begin());
      for (std::size_t x = 0; x < 5; ++x) {
        state[row + x] = lanes[x] ^ (~lanes[(x + 1) % 5] & lanes[(x + 2) % 5]);
      }
    }
    // Iota.
    state[0] ^= constant;
  }
}

// Lanes are little-endian on every machine.
void absorb(State& state, std::size_t position, unsigned char byte) {
  state[position / lane_bytes] ^= std::uint64_t{byte} << (8 * (position % lane_bytes));
}

}  // namespace

std::array<char, 32> keccak256(std::string_view message) {
  State state{};
  std::size_t position = 0;
  for (const char c : message) {
    absorb(state, position, static_cast<unsigned char>(c));
    if (++position == rate_bytes) {
      permute(state);
      position = 0;
    }
  }
  absorb(state, position, 0x01);
  absorb(state, rate_bytes - 1, 0x80);
  permute(state);

  std::array<char, 32> digest{};
  for (std::size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<char>(state[i / lane_bytes] >> (8 * (i % lane_bytes)));
  }
  return digest;
}

}  // namespace comptroller
