// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Base of probes that ask the file system, on another thread, because a network
// file system may hang.

#ifndef WAITER_CLI_PROBES_LOCAL_FILE_SYSTEM_PROBE_H_
#define WAITER_CLI_PROBES_LOCAL_FILE_SYSTEM_PROBE_H_

#include <functional>
#include <memory>

#include "absl/time/time.h"
#include "cli/loop/blocking_calls.h"
#include "cli/probes/probe.h"
#include "waiter/poll.h"

namespace waiter::cli {

class FileSystemProbe : public Probe {
 public:
  void Start(const PollContext& context, Done done) final;
  void TimeOut(absl::Duration timeout) final;
  void Cancel() final { done_ = nullptr; }

 protected:
  // `calls` must outlive this.
  explicit FileSystemProbe(BlockingCalls& calls) : calls_(calls) {}

  // Judges what was read, on the loop's thread, and only while the probe lives.
  using Judge = std::function<Finding()>;

  // Returns the call that reads. It must own all that it uses, except in what
  // it returns.
  virtual std::function<Judge()> NewRead() = 0;

 private:
  BlockingCalls& calls_;
  Done done_;

  // Whether a read is under way. If it hangs, it serves later polls, too.
  bool reading_ = false;

  // Lets reads find this probe; ends with it.
  std::shared_ptr<FileSystemProbe*> self_ =
      std::make_shared<FileSystemProbe*>(this);
};

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_LOCAL_FILE_SYSTEM_PROBE_H_
