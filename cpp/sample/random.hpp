// Pseudorandom numbers that are the same on every machine: SplitMix64 and integer arithmetic only.
// The numbers of a row depend only on (seed, stream, index), so any row can be generated without
// the rows before it, and again if another row refers to it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace comptroller::sample {

enum class Stream : std::uint64_t {
  group = 1,
  address,
  balance,
  claim,
  incident,
  identity,
  owner,
  control,
  control_kind,
  orchestration,
  rule,
  rate,
};

constexpr std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

// In the arguments of one call, draw at most once, because compilers evaluate arguments in
// different orders.
class Random {
 public:
  constexpr Random() = default;
  constexpr Random(std::uint64_t seed, Stream stream, std::uint64_t index)
      : state_(mix(mix(seed + golden * static_cast<std::uint64_t>(stream)) + index * golden)) {}

  constexpr std::uint64_t next() { return mix(state_ += golden); }

  // Returns a uniform number in [0, limit).
  constexpr std::uint32_t below(std::uint32_t limit) {
    return static_cast<std::uint32_t>(((next() >> 32) * limit) >> 32);
  }

  // Returns a uniform number in [low, high), for ranges wider than 32 bits.
  constexpr std::uint64_t between(std::uint64_t low, std::uint64_t high) {
    return low + next() % (high - low);
  }

  // Returns a number in [0, limit), usually small: half of all numbers are below limit / 8. `limit`
  // is below 2^43.
  constexpr std::uint64_t skewed(std::uint64_t limit) {
    const std::uint64_t even = next() >> 43;
    return ((((even * even) >> 21) * even >> 21) * limit) >> 21;
  }

  constexpr bool chance(std::uint32_t permille) { return below(1000) < permille; }

  template <class T, std::size_t N>
  constexpr const T& any(const std::array<T, N>& list) {
    return list[below(static_cast<std::uint32_t>(N))];
  }

  // Returns a number in [0, limit). Small numbers are more frequent, but less so than with
  // skewed(). `limit` is below 2^32.
  constexpr std::uint64_t favoured(std::uint64_t limit) {
    const std::uint64_t even = next() >> 32;
    return (((even * even) >> 32) * limit) >> 32;
  }
  template <class T, std::size_t N>
  constexpr const T& favour(const std::array<T, N>& list) {
    return list[favoured(N)];
  }

  // Returns bytes that are uniform in all values.
  template <class Bytes>
  constexpr void fill(Bytes& bytes) {
    for (auto& byte : bytes) byte = static_cast<std::decay_t<decltype(byte)>>(next() >> 56);
  }

 private:
  static constexpr std::uint64_t golden = 0x9e3779b97f4a7c15u;

  std::uint64_t state_ = 0;
};

}  // namespace comptroller::sample
