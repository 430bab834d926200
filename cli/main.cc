// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The main function of `waiter`.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "cli/flags/variables.h"
#include "cli/subcommands.h"

namespace {

// Opens each standard file that the caller has closed, so that no log gets its
// number and its output. PROGRAM finds it closed again.
void OpenStandardFiles() {
  int file = 0;
  while (file >= 0 && file <= STDERR_FILENO) {
    file = open("/dev/null", O_RDWR | O_CLOEXEC);
  }
  if (file >= 0) close(file);
}

}  // namespace

int main(int argc, char** argv) {
  OpenStandardFiles();
  const std::vector<std::string> args(argv + std::min(argc, 1), argv + argc);
  return waiter::cli::RunWaiter(args, waiter::cli::ProcessEnvironment(),
                                std::cout, std::cerr);
}
