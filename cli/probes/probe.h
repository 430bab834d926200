// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// One way to look at a target: a port, a URL, a file, a command.
//
//   void Start(const PollContext& context, Done done) override {
//     connector_.Connect(address_, [done](absl::Status connected) {
//       if (connected.ok()) return done({.status = PollStatus::kSuccess});
//       done({.detail = "refused", .absent = true});
//     });
//   }

#ifndef WAITER_CLI_PROBES_PROBE_H_
#define WAITER_CLI_PROBES_PROBE_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "waiter/poll_context.h"
#include "waiter/poll_status.h"

namespace waiter::cli {

// What one poll of a target found.
struct Finding {
  PollStatus status = PollStatus::kNotReady;

  // For people; may be anything, as it may come from outside.
  std::string detail = {};

  // What the user may do about it, as "certificate expired: --insecure"; may be
  // empty.
  std::string hint = {};

  // That what was looked for is surely not there, as distinct from errors,
  // which tell nothing: a port that refuses, a file that does not exist.
  bool absent = false;

  // How long the target asked not to be polled. Zero: it did not ask.
  absl::Duration retry_after = absl::ZeroDuration();

  // The share of the work that is done, from 0 to 1, where the target says so.
  std::optional<double> progress = std::nullopt;

  // What a probe that is a command printed, as far as it is kept.
  std::string output = {};
};

// Thread-compatible. Runs on an `EventLoop`, at most one poll at a time.
class Probe {
 public:
  using Done = std::function<void(Finding)>;

  // Ends the poll under way, without an answer.
  virtual ~Probe() = default;

  // Begins a poll, and calls `done` once, inside or later. Not called again
  // before it has.
  virtual void Start(const PollContext& context, Done done) = 0;

  // The poll under way has had its time, which was `timeout`: calls `done` with
  // what it had come to, inside or, if something must end first, soon.
  virtual void TimeOut(absl::Duration timeout) = 0;

  // Ends the poll under way, if any, without an answer.
  virtual void Cancel() = 0;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_PROBE_H_
