// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Base of probes that ask on another thread, as a call may hang: on a network
// file system, or in a library.

#ifndef WAITER_CLI_PROBES_BLOCKING_PROBE_H_
#define WAITER_CLI_PROBES_BLOCKING_PROBE_H_

#include <functional>
#include <memory>

#include "absl/time/time.h"
#include "cli/loop/blocking_calls.h"
#include "cli/probes/probe.h"
#include "waiter/poll.h"

namespace waiter::cli {

class BlockingProbe : public Probe {
 public:
  void Start(const PollContext& context, Done done) final;
  void TimeOut(absl::Duration timeout) final;
  void Cancel() final { done_ = nullptr; }

 protected:
  // `calls` must outlive this.
  explicit BlockingProbe(BlockingCalls& calls) : calls_(calls) {}

  // Judges the result of a read, on the loop's thread, and only while the probe
  // lives.
  using Judge = std::function<Finding()>;

  // Returns the call that reads. It must own everything it uses; the `Judge`
  // that it returns need not.
  virtual std::function<Judge()> NewRead() = 0;

  // Returns the finding for a call that hangs.
  virtual Finding Hanging(absl::Duration timeout) const;

 private:
  BlockingCalls& calls_;
  Done done_;

  // Whether a read is in progress. If it hangs, later polls use it too.
  bool reading_ = false;

  // Reads hold it weakly, to find this probe while it exists.
  std::shared_ptr<BlockingProbe*> self_ =
      std::make_shared<BlockingProbe*>(this);
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_BLOCKING_PROBE_H_
