// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Waits for a deployment that is ready immediately.

#include <cstdio>
#include <cstdlib>
#include <string>

#include "deployment.h"
#include "waiter/result.h"

int main() {
  const waiter::WaitResult<std::string> result =
      AwaitReady([] { return "READY"; });
  if (!result.ok()) return EXIT_FAILURE;
  std::puts(result->c_str());
}
