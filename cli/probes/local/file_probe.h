// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Whether a file is there, and, if so asked, is not being written any more:
//
//   waiter::cli::FileProbe probe(loop, calls,
//                           *waiter::cli::ParseTarget("file:out.o?stable=2s"));

#ifndef WAITER_CLI_PROBES_LOCAL_FILE_PROBE_H_
#define WAITER_CLI_PROBES_LOCAL_FILE_PROBE_H_

#include <sys/stat.h>

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "cli/loop/blocking_calls.h"
#include "cli/loop/event_loop.h"
#include "cli/probes/probe.h"
#include "cli/probes/target.h"
#include "waiter/clock.h"
#include "waiter/poll_context.h"

namespace waiter::cli {

// Looks on a thread, as a file system on a network may hang. A file is stable
// when size, time of change and identity have been seen unchanged for as long
// as the target says, from one poll to a later one.
class FileProbe : public Probe {
 public:
  // The loop and the calls must outlive this.
  FileProbe(EventLoop& loop, BlockingCalls& calls, Target target);

  void Start(const PollContext& context, Done done) override;
  void TimeOut(absl::Duration timeout) override;
  void Cancel() override { done_ = nullptr; }

 private:
  // What is compared.
  struct Look {
    auto operator<=>(const Look&) const = default;

    int error = 0;  // An errno; 0: it is there.
    int64_t size = 0;
    int64_t seconds = 0;
    int64_t nanoseconds = 0;
    uint64_t device = 0;
    uint64_t inode = 0;
  };

  static Look LookAt(const std::string& path);
  Finding Judge(const Look& look);
  Finding JudgeThere(const Look& look);

  EventLoop& loop_;
  BlockingCalls& calls_;
  const Target target_;
  Done done_;

  // A look that hangs serves the polls that come after it.
  bool looking_ = false;

  // The last that was seen, and since when.
  std::optional<Look> last_;
  MonotonicTime since_;

  // What looks find the way back by; ends with this.
  std::shared_ptr<FileProbe*> self_ = std::make_shared<FileProbe*>(this);
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_LOCAL_FILE_PROBE_H_
