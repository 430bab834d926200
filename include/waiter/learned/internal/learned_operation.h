// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The learned delays of one operation, as the loop of a wait uses them.

#ifndef WAITER_LEARNED_INTERNAL_LEARNED_OPERATION_H_
#define WAITER_LEARNED_INTERNAL_LEARNED_OPERATION_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/random/bit_gen_ref.h"
#include "waiter/clock.h"
#include "waiter/learned/durations.h"
#include "waiter/learned/internal/poll_table.h"
#include "waiter/learned/learned_delays.h"

namespace waiter::internal {

// Thread-safe. The polls of all waits of the operation read one table, which is
// made anew when the model has changed enough.
class LearnedOperation {
 public:
  LearnedOperation(std::shared_ptr<DurationModel> model,
                   const LearnedDelaysOptions& options, std::string name,
                   bool records);

  // Returns the delay after a poll. Draws from `gen` once.
  LearnedDelay Find(std::chrono::nanoseconds elapsed,
                    absl::BitGenRef gen) const {
    constexpr float kNanosecond = 1e-9F;
    return table_.Find(static_cast<float>(elapsed.count()) * kNanosecond,
                       gen());
  }

  // Adds what a wait saw that ended at `now`, and refreshes the table. Does
  // nothing if the operation does not record.
  void Record(const ObservedDuration& duration, MonotonicTime now);

  // Makes the table anew if the model has changed enough, at most ten times per
  // second once there are many durations. Takes up to 1 ms then; other threads
  // go on with the old table meanwhile.
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

#endif  // WAITER_LEARNED_INTERNAL_LEARNED_OPERATION_H_
