// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Memory for large arrays that are walked in random order. It uses huge pages
// where the kernel offers them, so that a walk that misses the cache does not
// miss the address translation too.

#ifndef WAITER_ENGINE_PAGE_MEMORY_H_
#define WAITER_ENGINE_PAGE_MEMORY_H_

#include <cstddef>
#include <memory>

namespace waiter::internal {

struct FreePageMemory {
  void operator()(std::byte* memory) const;
};

using PageMemory = std::unique_ptr<std::byte, FreePageMemory>;

// Returns `size` bytes of uninitialized memory, aligned for any type and to a
// cache line. The system provides a page when it is first touched. Throws
// `std::bad_alloc` if there is no memory.
PageMemory AllocatePageMemory(size_t size);

}  // namespace waiter::internal

#endif  // WAITER_ENGINE_PAGE_MEMORY_H_
