// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include <iostream>

#include "await_job.h"

int main() {
  int looks = 0;
  const absl::Status status =
      AwaitJob([&] { return ++looks < 3 ? "RUNNING" : "DONE"; });
  std::cout << looks << " polls: " << status << "\n";
  return status.ok() ? 0 : 1;
}
