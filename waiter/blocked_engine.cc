// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/internal/blocked_engine.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <ostream>
#include <string_view>

namespace waiter::internal {

thread_local std::atomic<int64_t>* blocked_engine = nullptr;

void CountBlockingSleep(std::string_view name) {
  if (blocked_engine == nullptr) return;
  if (blocked_engine->fetch_add(1, std::memory_order_relaxed) > 0) return;
  std::cerr << "waiter: the blocking wait \"" << name
            << "\" sleeps inside a function of a WaitEngine's wait, which "
               "blocks all waits of that thread; start it on the engine, or "
               "run the function on WaitEngineOptions::executor"
            << std::endl;
#ifndef NDEBUG
  std::abort();
#endif
}

}  // namespace waiter::internal
