#include "db/writing.hpp"

#include "model/error.hpp"

namespace comptroller::db {

namespace {

thread_local const Writing* writing_of_thread = nullptr;

}  // namespace

Writing::Writing(const void* writer, bool is_bulk)
    : writer_(writer), is_bulk_(is_bulk), before_(writing_of_thread) {
  writing_of_thread = this;
}

Writing::~Writing() {
  writing_of_thread = before_;
}

void Writing::refuse(const void* writer) {
  for (const Writing* each = writing_of_thread; each != nullptr; each = each->before_) {
    if (each->writer_ != writer) continue;
    throw Error(Code::unsupported, each->is_bulk_
                                       ? "this thread is loading; write once the load has ended"
                                       : "this thread is writing; write once that has ended");
  }
}

}  // namespace comptroller::db
