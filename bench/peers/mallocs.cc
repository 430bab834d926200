// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "bench/peers/mallocs.h"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace {

std::atomic<int64_t> mallocs = 0;

void Count() {
  // An atomic addition would cost as much as some allocations.
  mallocs.store(mallocs.load(std::memory_order_relaxed) + 1,
                std::memory_order_relaxed);
}

}  // namespace

// NOLINTBEGIN(bugprone-reserved-identifier, readability-*): the names of glibc.
// The allocator of glibc, under its other names.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t number, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

void* malloc(size_t size) {
  Count();
  return __libc_malloc(size);
}

void* calloc(size_t number, size_t size) {
  Count();
  return __libc_calloc(number, size);
}

void* realloc(void* memory, size_t size) {
  Count();
  return __libc_realloc(memory, size);
}

void* aligned_alloc(size_t alignment, size_t size) {
  Count();
  return __libc_memalign(alignment, size);
}

int posix_memalign(void** memory, size_t alignment, size_t size) {
  Count();
  *memory = __libc_memalign(alignment, size);
  return *memory != nullptr ? 0 : ENOMEM;
}
}
// NOLINTEND(bugprone-reserved-identifier, readability-*)

namespace waiter::bench {

int64_t Mallocs() { return mallocs.load(std::memory_order_relaxed); }

}  // namespace waiter::bench
