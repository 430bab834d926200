// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The part of `LockedFile` that needs no system call.

#include "waiter/learned/locked_file.h"

#include <chrono>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace waiter::internal {

absl::Status LockedFile::Lock() {
  // Other processes hold it for some microseconds, unless they are stopped.
  constexpr int kTries = 100;
  constexpr std::chrono::microseconds kGap(100);
  for (int i = 0; i < kTries; ++i) {
    const absl::StatusOr<bool> locked = TryLock();
    if (!locked.ok()) return locked.status();
    if (*locked) return absl::OkStatus();
    std::this_thread::sleep_for(kGap);
  }
  return absl::UnavailableError(
      absl::StrCat(path_, " is locked by another process"));
}

}  // namespace waiter::internal
