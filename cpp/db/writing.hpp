#pragma once

namespace comptroller::db {

// How many times as long as others a bulk write waits that must not fail.
inline constexpr int waits_of_patient = 10;

// Marks that this thread waits for a writer, which is known by its address, or works with it. A
// signal handler or a callback that runs on the thread meanwhile cannot write with it, because it
// would wait for its own thread.
class Writing {
 public:
  explicit Writing(const void* writer, bool is_bulk = false);
  ~Writing();
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;

  // Throws unsupported if this thread is marked.
  static void refuse(const void* writer);

 private:
  const void* writer_;
  bool is_bulk_;
  const Writing* before_;
};

}  // namespace comptroller::db
