// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Asks several servers of one target. One that is ready is enough:
//
//   waiter::cli::FirstOfProbe probe(loop, std::move(probes));

#ifndef WAITER_CLI_PROBES_SOCKET_FIRST_OF_PROBE_H_
#define WAITER_CLI_PROBES_SOCKET_FIRST_OF_PROBE_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "cli/loop/event_loop.h"
#include "cli/probes/probe.h"
#include "waiter/poll.h"

namespace waiter::cli {

// Asks in order. The next server is asked as soon as one is not ready, or has
// not answered for a second. Absent if all are.
class FirstOfProbe : public Probe {
 public:
  // The loop must outlive this. `probes` is not empty.
  FirstOfProbe(EventLoop& loop, std::vector<std::unique_ptr<Probe>> probes);

  void Start(const PollContext& context, Done done) override;
  void TimeOut(absl::Duration timeout) override;
  void Cancel() override;

 private:
  void StartNext();
  void OnAnswer(Finding finding);

  EventLoop& loop_;
  const std::vector<std::unique_ptr<Probe>> probes_;

  // The poll in progress.
  PollContext context_;
  Done done_;
  size_t started_ = 0;
  bool is_last_ = false;  // Whether no more are started.
  std::vector<Finding> answers_;
  std::vector<bool> answered_;
  EventLoop::Watch later_;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_SOCKET_FIRST_OF_PROBE_H_
