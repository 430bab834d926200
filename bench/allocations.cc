// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/allocations.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

std::atomic<int64_t> allocations = 0;

}  // namespace

void* operator new(size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* const memory = std::malloc(size != 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace waiter::bench {

int64_t Allocations() { return allocations.load(std::memory_order_relaxed); }

}  // namespace waiter::bench
