// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Checks whether a file exists and, if asked to, is no longer being written:
//
//   waiter::cli::FileProbe probe(
//       loop, calls, {.path = "out.o", .stable = absl::Seconds(2)});

#ifndef WAITER_CLI_PROBES_LOCAL_FILE_PROBE_H_
#define WAITER_CLI_PROBES_LOCAL_FILE_PROBE_H_

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "cli/loop/blocking_calls.h"
#include "cli/loop/event_loop.h"
#include "cli/probes/blocking_probe.h"
#include "cli/probes/probe.h"
#include "cli/probes/target.h"
#include "waiter/clock.h"

namespace waiter::cli {

// A file is stable if its size, time of modification and identity have not
// changed from one poll to a later one for as long as the target says.
class FileProbe : public BlockingProbe {
 public:
  // The loop and the calls must outlive this.
  FileProbe(EventLoop& loop, BlockingCalls& calls, FileTarget target);

 private:
  // State of the file, which polls compare.
  struct Look {
    auto operator<=>(const Look&) const = default;

    int error = 0;  // An errno; 0 if the file exists.
    int64_t size = 0;
    int64_t seconds = 0;
    int64_t nanoseconds = 0;
    uint64_t device = 0;
    uint64_t inode = 0;
  };

  std::function<Judge()> NewRead() override;
  static Look LookAt(const std::string& path);
  Finding JudgeLook(const Look& look);
  Finding JudgeThere(const Look& look);

  EventLoop& loop_;
  const FileTarget target_;

  // The last state, and when it was first seen.
  std::optional<Look> last_;
  MonotonicTime unchanged_since_;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_LOCAL_FILE_PROBE_H_
