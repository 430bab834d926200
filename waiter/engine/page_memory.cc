// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/engine/page_memory.h"

#include <cstddef>
#include <cstdlib>

#if defined(_WIN32)
#include <malloc.h>
#elif defined(__linux__) && !defined(WAITER_PORTABLE_CALLS)
#include <sys/mman.h>
#endif

#include "waiter/internal/exceptions.h"

namespace waiter::internal {
namespace {

constexpr size_t kCacheLine = 64;
constexpr size_t RoundUp(size_t size, size_t unit) {
  return (size + unit - 1) / unit * unit;
}

}  // namespace

#ifdef _WIN32

void FreePageMemory::operator()(std::byte* memory) const {
  _aligned_free(memory);
}

PageMemory AllocatePageMemory(size_t size) {
  void* const memory = _aligned_malloc(RoundUp(size, kCacheLine), kCacheLine);
  if (memory == nullptr) ThrowBadAlloc();
  return PageMemory(static_cast<std::byte*>(memory));
}

#else

void FreePageMemory::operator()(std::byte* memory) const { std::free(memory); }

PageMemory AllocatePageMemory(size_t size) {
  constexpr size_t kHugePage = size_t{2} << 20;
  const size_t alignment = size < kHugePage ? kCacheLine : kHugePage;
  const size_t whole = RoundUp(size, alignment);
  void* const memory = std::aligned_alloc(alignment, whole);
  if (memory == nullptr) ThrowBadAlloc();
#if defined(__linux__) && !defined(WAITER_PORTABLE_CALLS)
  // Advice only: an error makes no difference except in speed.
  if (alignment == kHugePage) madvise(memory, whole, MADV_HUGEPAGE);
#endif
  return PageMemory(static_cast<std::byte*>(memory));
}

#endif

}  // namespace waiter::internal
