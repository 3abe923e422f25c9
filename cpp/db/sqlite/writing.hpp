#pragma once

namespace comptroller::db::sqlite {

class Writer;

// Marks that this thread waits for a writer or works with it. A signal handler or a callback that
// runs on the thread meanwhile cannot write with it, because it would wait for its own thread.
class Writing {
 public:
  explicit Writing(const Writer& writer, bool is_bulk = false);
  ~Writing();
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;

  // Throws unsupported if this thread is marked.
  static void refuse(const Writer& writer);

 private:
  const Writer& writer_;
  bool is_bulk_;
  const Writing* before_;
};

}  // namespace comptroller::db::sqlite
