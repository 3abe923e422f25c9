#pragma once

#include <pthread.h>

#include <csignal>

namespace comptroller::db {

// Blocks all signals in this thread, so that the program's own threads handle them.
inline void block_signals() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

}  // namespace comptroller::db
