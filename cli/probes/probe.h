// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Checks a target in one way: a port, a URL, a file, a program.
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
#include "waiter/poll.h"

namespace waiter::cli {

// Result of one poll of a target.
struct Finding {
  PollStatus status = PollStatus::kNotReady;

  // For messages. May contain any bytes, because it may come from outside.
  std::string detail = {};

  // Advice for the user, such as "certificate expired: --insecure"; may be
  // empty.
  std::string hint = {};

  // Whether the target is certainly not there, such as a port that refuses or a
  // file that does not exist. Other errors say nothing about that.
  bool absent = false;

  // Whether the name of its host is not known, which may be misspelled.
  bool no_host = false;

  // Whether the target answered well, but a condition on the answer does not
  // hold.
  bool unmet = false;

  // How long the target asked not to be polled, zero if it did not ask, and the
  // part of its answer that says so, if that is known.
  absl::Duration retry_after = absl::ZeroDuration();
  std::string retry_after_source = {};

  // Whether the target held the request until it had news, so that the next
  // poll may begin immediately.
  bool was_held = false;

  // Share of the work that is done, from 0 to 1, if the target reports it.
  std::optional<double> progress = std::nullopt;

  // Value of a successful answer that the user wants to see.
  std::optional<std::string> value = std::nullopt;

  // Kept part of the stdout of a program that served as probe.
  std::string output = {};
};

// Thread-compatible. Runs on an `EventLoop`, at most one poll at a time.
class Probe {
 public:
  using Done = std::function<void(Finding)>;

  // Ends the poll in progress, if any, without an answer.
  virtual ~Probe() = default;

  // Starts a poll, and calls `done` once, inside this call or later. The next
  // call must come after `done` is called.
  virtual void Start(const PollContext& context, Done done) = 0;

  // Ends the poll in progress, which has taken `timeout`: calls `done` with its
  // result so far, inside this call or, if something must end first, soon.
  virtual void TimeOut(absl::Duration timeout) = 0;

  // Ends the poll in progress, if any, without an answer.
  virtual void Cancel() = 0;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_PROBE_H_
