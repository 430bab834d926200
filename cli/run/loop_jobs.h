// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs probes and programs on an `EventLoop`, for threads that wait for them:
//
//   waiter::cli::LoopJobs jobs(reaper);
//   // On other threads, while this one runs the loop:
//   waiter::cli::Finding found = jobs.RunProbe(make_probe, context);

#ifndef WAITER_CLI_RUN_LOOP_JOBS_H_
#define WAITER_CLI_RUN_LOOP_JOBS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "absl/status/statusor.h"
#include "cli/loop/event_loop.h"
#include "cli/probes/probe.h"
#include "cli/process/process.h"
#include "cli/process/process_reaper.h"
#include "waiter/poll.h"

namespace waiter::cli {

// Used on the thread of the loop, except the functions that block. Must outlive
// their calls, and everything else that runs the loop.
class LoopJobs {
 public:
  using NewProbe = std::function<absl::StatusOr<std::unique_ptr<Probe>>()>;

  // Uses the loop of the reaper.
  explicit LoopJobs(ProcessReaper& reaper);
  LoopJobs(const LoopJobs&) = delete;
  LoopJobs& operator=(const LoopJobs&) = delete;

  // Blocks until a probe, which `make` makes on the loop, has answered, at most
  // for the time of the poll and the time that the probe needs to end. Returns
  // a failure if there is no probe, and not ready after `Close`.
  Finding RunProbe(const NewProbe& make, const PollContext& context);

  // Blocks until a program has ended. Returns `terminated` after `Close`.
  ProcessEnd RunProgram(const Command& command);

  // Ends all calls in progress. Later calls return immediately.
  void Close();

 private:
  struct Job {
    std::function<void()> give_up;  // Null once there is an answer.
    std::unique_ptr<Probe> probe;
    std::unique_ptr<Process> process;
    EventLoop::Watch time_out;
  };

  // Calls `start` on the loop, with the job and a function that takes the
  // answer, and blocks until there is one.
  template <typename T>
  T Run(const T& given_up,
        const std::function<void(Job&, std::function<void(T)>)>& start);

  EventLoop& loop_;
  ProcessReaper& reaper_;
  std::map<uint64_t, Job> jobs_;
  uint64_t next_id_ = 1;
  bool is_closed_ = false;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_RUN_LOOP_JOBS_H_
