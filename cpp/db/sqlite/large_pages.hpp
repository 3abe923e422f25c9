// Memory for tables that are read and written in random order.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>

namespace comptroller::db::sqlite {

// Allocates large arrays in large pages of memory if the system has them. The processor then finds
// an address faster, and the system maps fewer pages.
template <class T>
struct LargePages {
  using value_type = T;

  LargePages() = default;
  template <class Other>
  explicit LargePages(const LargePages<Other>&) {}

  T* allocate(std::size_t count) {
    const std::size_t size = count * sizeof(T);
    if (size < page_size) return static_cast<T*>(::operator new(size));
    void* const memory = ::operator new(size, page);
#ifdef MADV_HUGEPAGE
    ::madvise(memory, size, MADV_HUGEPAGE);
#endif
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t count) {
    if (count * sizeof(T) < page_size) return ::operator delete(memory);
    ::operator delete(memory, page);
  }
  friend bool operator==(LargePages, LargePages) { return true; }

 private:
  static constexpr std::size_t page_size = std::size_t{2} << 20U;
  static constexpr std::align_val_t page{page_size};
};

}  // namespace comptroller::db::sqlite
