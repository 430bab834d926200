// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/wait_result.h"

#include <cstdlib>
#include <iostream>
#include <ostream>

#include "waiter/wait_report.h"

namespace waiter::internal {

void DieWithoutValue(const WaitReport& report) {
  std::cerr << "waiter: the value of a wait without success was read; check "
               "ok() first. Its status is "
            << report.status << std::endl;
  std::abort();
}

}  // namespace waiter::internal
