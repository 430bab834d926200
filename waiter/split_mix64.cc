// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <cstdint>

#include "absl/random/random.h"
#include "waiter/backoff.h"

namespace waiter {

SplitMix64 MakeSeededSplitMix64() {
  thread_local SplitMix64 seeds(absl::Uniform<uint64_t>(absl::BitGen()));
  return SplitMix64(seeds());
}

}  // namespace waiter
