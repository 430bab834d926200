// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The main function of `waiter`.

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "cli/flags/variables.h"
#include "cli/subcommands.h"

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + std::min(argc, 1), argv + argc);
  return waiter::cli::RunWaiter(args, waiter::cli::ProcessEnvironment(),
                                std::cout, std::cerr);
}
