// What the thread sanitizer must not report in a test program.
#ifdef __SANITIZE_THREAD__
// ThreadSanitizer does not see that the C++ library, which is compiled without it, counts the
// users of an exception with atomic operations: the last of two threads frees it.
extern "C" [[gnu::visibility("default")]] const char* __tsan_default_suppressions() {
  return "race:std::__exception_ptr::exception_ptr::_M_release\n";
}
#endif
