// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The learned delays of one operation.

#ifndef WAITER_LEARNED_LEARNED_OPERATION_H_
#define WAITER_LEARNED_LEARNED_OPERATION_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/random/bit_gen_ref.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/delay_source.h"
#include "waiter/learned/durations.h"
#include "waiter/learned/learned_delays.h"
#include "waiter/learned/poll_table.h"

namespace waiter::internal {

// Thread-safe. The polls of all waits of the operation read one table, which is
// rebuilt when the model has changed enough.
class LearnedOperation : public DelaySource {
 public:
  LearnedOperation(std::shared_ptr<DurationModel> model,
                   const LearnedDelaysOptions& options, std::string name,
                   bool records);

  Replaces replaces() const override { return Replaces::kBackoff; }

  // The more the model knows, the closer the delay is to the model's and the
  // farther from the backoff's, on a logarithmic scale.
  std::optional<absl::Duration> NextDelay(const DelayRequest& request,
                                          absl::BitGenRef gen) override;

  bool records_durations() const override { return records_; }

  // Adds to the model, and refreshes the table.
  void RecordDuration(const ObservedDuration& duration,
                      MonotonicTime now) override;

  // Rebuilds the table if the model has changed enough, at most ten times per
  // second once there are many durations. Takes up to 1 ms then; other threads
  // use the old table until then.
  void Refresh(MonotonicTime now);

 private:
  const std::shared_ptr<DurationModel> model_;
  const LearnedDelaysOptions options_;
  const std::string name_;
  const bool records_;
  SharedPollTable table_;
  // Held by the thread that makes a table.
  std::atomic<bool> is_refreshing_ = false;
  DurationModel::Known known_;             // By the table; under the flag.
  std::atomic<int64_t> next_refresh_ = 0;  // Nanoseconds of the clock.
};

}  // namespace waiter::internal

#endif  // WAITER_LEARNED_LEARNED_OPERATION_H_
