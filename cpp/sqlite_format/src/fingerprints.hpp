#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace sqlite_format {

// A set of fingerprints with open addressing; 0 is a free slot.
class Fingerprints {
 public:
  // Returns false if the fingerprint is in the set already.
  bool insert(std::uint64_t fingerprint) {
    if (2 * (size_ + 1) > slots_.size() + slots_.size() / 2) grow();
    fingerprint += fingerprint == 0 ? 1 : 0;
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = fingerprint & mask;
    for (; slots_[at] != 0; at = (at + 1) & mask) {
      if (slots_[at] == fingerprint) return false;
    }
    slots_[at] = fingerprint;
    ++size_;
    return true;
  }
  // Loads the slot of a fingerprint that is inserted soon.
  void prefetch(std::uint64_t fingerprint) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[fingerprint & (slots_.size() - 1)]);
  }

 private:
  static constexpr std::size_t first_slots = std::size_t{1} << 12U;

  void grow() {
    std::vector<std::uint64_t> before(std::max(first_slots, 2 * slots_.size()));
    before.swap(slots_);
    size_ = 0;
    for (const std::uint64_t fingerprint : before) {
      if (fingerprint != 0) insert(fingerprint);
    }
  }

  std::vector<std::uint64_t> slots_;
  std::size_t size_ = 0;
};

}  // namespace sqlite_format
