// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Waits for a deployment twice: on this thread, and on an engine.

#include <iostream>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "waiter/engine/engine.h"
#include "waiter/engine/handle.h"
#include "waiter/poll.h"
#include "waiter/result.h"
#include "waiter/waiter.h"

namespace {

// A deployment that is up at the third look.
class Deployment {
 public:
  waiter::Poll<int> Look() {
    if (++looks_ < 3) return waiter::NotReady("starting");
    return waiter::Success(looks_);
  }

 private:
  int looks_ = 0;
};

}  // namespace

int main() {
  Deployment deployment;
  waiter::Waiter wait([&] { return deployment.Look(); },
                      {.name = "deployment", .timeout = absl::Seconds(10)});
  const waiter::WaitResult<int> result = wait.Wait();
  if (!result.ok()) {
    std::cerr << result.status() << "\n";
    return 1;
  }

  Deployment other;
  absl::Status status = absl::UnknownError("not called");
  {
    waiter::WaitEngine engine({.threads = 0});
    const waiter::WaitHandle handle = engine.Start(
        waiter::Waiter([&] { return other.Look(); },
                       {.timeout = absl::Seconds(10)}),
        [&](const waiter::WaitResult<int>& done) { status = done.status(); });
    engine.Run();
  }
  std::cout << "up after " << result.report().attempts << " polls, and "
            << status << " on an engine\n";
  return status.ok() ? 0 : 1;
}
