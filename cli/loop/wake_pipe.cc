// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/loop/wake_pipe.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/status/status.h"
#include "cli/loop/open_fd.h"

namespace waiter::cli {
namespace {

// `kOwnFailure` of cli/run/exit_code.h, which is above this level.
constexpr int kOwnFailure = 125;

}  // namespace

std::array<int, 2> MakeWakePipe() {
  std::array<int, 2> ends = {-1, -1};
  if (OpenPipe(ends) != 0 || SetNonBlocking(ends[0]) != 0 ||
      SetNonBlocking(ends[1]) != 0) {
    const absl::Status status =
        absl::ErrnoToStatus(errno, "waiter: cannot create a pipe");
    // Neither a stream nor a category of errors, as UBSan needs a file to check
    // the type of one.
    std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
    std::_Exit(kOwnFailure);
  }
  return ends;
}

}  // namespace waiter::cli
