// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/counted_new.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#ifdef _WIN32
#include <malloc.h>
#endif

namespace {

std::atomic<int64_t> allocations = 0;
std::atomic<int64_t> frees = 0;

void* Allocate(size_t size, size_t alignment = alignof(std::max_align_t)) {
  ++allocations;
  const size_t rounded = (size + alignment - 1) / alignment * alignment;
#ifdef _WIN32
  void* memory = _aligned_malloc(rounded, alignment);
#else
  void* memory = std::aligned_alloc(alignment, rounded);
#endif
  if (memory == nullptr) std::abort();
  return memory;
}

void Free(void* memory) {
  if (memory != nullptr) ++frees;
#ifdef _WIN32
  _aligned_free(memory);
#else
  std::free(memory);
#endif
}

}  // namespace

void* operator new(size_t size) { return Allocate(size); }
void* operator new[](size_t size) { return Allocate(size); }
void* operator new(size_t size, std::align_val_t alignment) {
  return Allocate(size, static_cast<size_t>(alignment));
}
void* operator new[](size_t size, std::align_val_t alignment) {
  return Allocate(size, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept { Free(memory); }
void operator delete[](void* memory) noexcept { Free(memory); }
void operator delete(void* memory, size_t) noexcept { Free(memory); }
void operator delete[](void* memory, size_t) noexcept { Free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { Free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept {
  Free(memory);
}
void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  Free(memory);
}
void operator delete[](void* memory, size_t, std::align_val_t) noexcept {
  Free(memory);
}

namespace waiter {

int64_t AllocationCount() { return allocations; }
int64_t LiveAllocationCount() { return allocations - frees; }

}  // namespace waiter
