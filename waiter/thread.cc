// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/internal/thread.h"

#ifndef _WIN32
#include <pthread.h>
#endif

#include <atomic>
#include <memory>
#include <thread>

namespace waiter::internal {

constinit std::atomic<int> HomeProcess::forks_ = 0;

HomeProcess HomeProcess::Current() {
#ifndef _WIN32
  [[maybe_unused]] static const int error =
      pthread_atfork(nullptr, nullptr, [] { forks_.fetch_add(1, kRelaxed); });
#endif
  HomeProcess current;
  current.depth_ = forks_.load(kRelaxed);
  return current;
}

Thread::~Thread() {
  // The destructor of a thread that was not joined would end the program.
  if (IsGone()) std::construct_at(&thread_);
}

void Thread::End() {
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

}  // namespace waiter::internal
