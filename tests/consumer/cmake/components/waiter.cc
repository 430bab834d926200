// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Uses compiled code of waiter::waiter.

#include "waiter/waiter.h"

#include "absl/time/time.h"
#include "waiter/engine/engine.h"

int main() {
  const waiter::WaitEngine engine({.threads = 0});
  waiter::Waiter wait([] { return true; }, absl::Seconds(1));
  return wait.Wait().ok() ? 0 : 1;
}
