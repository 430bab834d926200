// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/file_descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>

namespace waiter_examples {

Pipe MakePipe() {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return {};
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

}  // namespace waiter_examples
