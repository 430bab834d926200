// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/failing_new.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#ifdef _WIN32
#include <malloc.h>
#endif

namespace {

// Allocations up to the one that fails; 0: none fails.
thread_local int64_t left = 0;
thread_local bool fails_from_then = false;
thread_local bool failed = false;

void* Allocate(size_t size, size_t alignment = alignof(std::max_align_t)) {
  if (left > 0 && --left == 0) {
    failed = true;
    if (fails_from_then) left = 1;
    throw std::bad_alloc();
  }
  const size_t rounded = (size + alignment - 1) / alignment * alignment;
#ifdef _WIN32
  void* const memory = _aligned_malloc(rounded, alignment);
#else
  void* const memory = std::aligned_alloc(alignment, rounded);
#endif
  if (memory == nullptr) std::abort();
  return memory;
}

void Free(void* memory) {
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

FailingNew::FailingNew(int64_t nth, Mode mode) {
  fails_from_then = mode == Mode::kFromThen;
  failed = false;
  left = nth;
}

FailingNew::~FailingNew() { left = 0; }

bool FailingNew::has_failed() const { return failed; }

}  // namespace waiter
