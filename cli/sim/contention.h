// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Clients that compete to update one row, as in "Exponential Backoff And
// Jitter" (AWS Architecture Blog, 2015).
//
//   absl::StatusOr<waiter::sim::ContentionModel> model =
//       waiter::sim::ContentionModel::Make({.clients = 100});
//   if (!model.ok()) return model.status();
//   waiter::SplitMix64 gen(42);
//   waiter::sim::ContentionRun run = model->Run(gen);  // run.time, run.calls
//
// Every client starts at time zero, reads the version of the row, and writes
// the next version. A write succeeds if no other client has written in between.
// Otherwise the client delays by its `Backoff` and starts over, until it has
// succeeded once. Each request and each response takes one network delay.
//
// contention_table.h runs the model over many sizes and rules.

#ifndef WAITER_CLI_SIM_CONTENTION_H_
#define WAITER_CLI_SIM_CONTENTION_H_

#include <chrono>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/sim/network.h"
#include "waiter/backoff.h"

namespace waiter::sim {

struct ContentionBackoffDefaults : BackoffDefaults {
  static constexpr absl::Duration kInitialDelay = absl::Milliseconds(10);
  static constexpr absl::Duration kMaxDelay = absl::Seconds(2);
};
using ContentionBackoff = BasicBackoff<ContentionBackoffDefaults>;

struct ContentionOptions {
  // Number of clients, from 1 to 10,000. With a bad rule, the writes of a run
  // grow with its square.
  int clients = 100;

  // Delays between a failed write and the next read. A client whose
  // `initial_delay` is zero starts over immediately.
  ContentionBackoff backoff = {};

  NetworkOptions network = {};
};

// Returns OK, or kInvalidArgument with the field, its value and its range.
absl::Status Validate(const ContentionOptions& options);

// Result of one run.
struct ContentionRun {
  // Time until the last client has received its success.
  absl::Duration time;

  // Number of writes, failed ones included. Each comes with three more
  // messages: its response, and the request and response of a read.
  int64_t calls = 0;
};

// Thread-compatible.
class ContentionModel {
 public:
  // Takes the time of each write at the server, in order.
  using OnWrite = absl::FunctionRef<void(std::chrono::nanoseconds)>;

  // Returns the model, or the error of `Validate`.
  static absl::StatusOr<ContentionModel> Make(const ContentionOptions& options);

  // Plays one run. Equal states of `gen` give equal runs.
  ContentionRun Run(SplitMix64& gen) const;
  ContentionRun Run(SplitMix64& gen, OnWrite on_write) const;

 private:
  explicit ContentionModel(const ContentionOptions& options);

  template <typename Callable>
  ContentionRun Play(SplitMix64& gen, const Callable& on_write) const;

  int clients_;
  Backoff backoff_;
  NetworkDelay network_;
};

}  // namespace waiter::sim

#endif  // WAITER_CLI_SIM_CONTENTION_H_
