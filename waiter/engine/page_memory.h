// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Memory for large arrays that are walked in random order. Where the kernel
// offers huge pages it is asked for them: a walk that misses the cache then
// does not miss the address translation too.

#ifndef WAITER_ENGINE_PAGE_MEMORY_H_
#define WAITER_ENGINE_PAGE_MEMORY_H_

#include <cstddef>
#include <memory>

namespace waiter::internal {

struct FreePageMemory {
  void operator()(std::byte* memory) const;
};

// Uninitialized, and aligned for any type and to a cache line. The system
// provides what is touched, by the page.
using PageMemory = std::unique_ptr<std::byte, FreePageMemory>;

PageMemory AllocatePageMemory(size_t size);

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_PAGE_MEMORY_H_
