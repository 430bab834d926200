// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// What every target is doing at one moment, for who asks with SIGUSR1:
//
//   waiter: 42s of 5m: 1 of 3 ready
//     db   NOT_READY  poll 9, next 3s  refused 127.0.0.1:5432
//     web  STARTING   poll 1 for 41s

#ifndef WAITER_CLI_OUTPUT_SNAPSHOT_H_
#define WAITER_CLI_OUTPUT_SNAPSHOT_H_

#include <ostream>
#include <string>

#include "cli/run/run_state.h"

namespace waiter::cli {

// Returns the lines above: those that are not ready first, at most 40.
std::string SnapshotText(const RunState& run);

// Writes it when asked; for those who show nothing else. `err` must outlive
// this.
class Snapshots : public RunListener {
 public:
  explicit Snapshots(std::ostream& err) : err_(err) {}

  void OnSnapshot(const RunState& run) override {
    err_ << SnapshotText(run) << std::flush;
  }

 private:
  std::ostream& err_;
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_OUTPUT_SNAPSHOT_H_
