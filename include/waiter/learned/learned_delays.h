// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Polls where the answer is: delays that are learned from how long earlier
// waits for the same operation took.
//
//   auto durations = std::make_shared<waiter::DurationModel>();
//   auto learned = waiter::LearnedDelays::Make(durations);
//   if (!learned.ok()) return learned.status();
//
//   waiter::Waiter wait(GetStatus, {.operation = "create instance",
//                                   .timeout = absl::Minutes(10),
//                                   .learned_delays = *learned});
//
// Every such wait adds its duration to the model and polls by it. A file keeps
// that beyond the process (duration_file.h):
//
//   auto file = waiter::DurationFile::Open("durations", durations);
//
// Learned delays replace the curve after "not ready", and nothing else:
// throttled answers and server errors have their curves, a server's hints hold,
// and so do budgets, limits and deadlines. With few durations, beyond all that
// are known, and after an evident change, the delays go over to the curve of
// the options gradually. docs/learned.md explains the rule and shows what it
// saves.

#ifndef WAITER_LEARNED_LEARNED_DELAYS_H_
#define WAITER_LEARNED_LEARNED_DELAYS_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/internal/mutex.h"
#include "waiter/learned/duration_model.h"
#include "waiter/learned/learned_delays_options.h"

namespace waiter {

namespace internal {
class LearnedOperation;
}  // namespace internal

// The schedule of an operation and what it is expected to cost, for people. All
// times are from the start of a wait. With too few durations, or if the curve
// of the options is better, it is empty but for the distribution.
struct LearnedSchedule {
  // Part of the delays that the model decides, within [0, 1].
  double weight = 0;
  // Polls after the one at the start, without jitter, as long as the operation
  // may last by what is known.
  std::vector<absl::Duration> polls;
  double expected_polls = 0;
  absl::Duration expected_lateness = absl::ZeroDuration();
  // The exchange rate that reaches the target of the options.
  double seconds_of_delay_worth_one_poll = 0;

  // The distribution of the durations: the probability of an end by `time`.
  struct Point {
    absl::Duration time;
    double probability;
  };
  std::vector<Point> distribution;
};

// Thread-safe. Waits that use it hold parts of it, so it may be destroyed
// before they end. The delays of an operation follow the model when a policy or
// a `Waiter` is made and when a wait is recorded, at most ten times per second
// once there are many durations.
class LearnedDelays {
 public:
  // Returns an error if `model` is null, or the error of `Validate`.
  static absl::StatusOr<std::shared_ptr<LearnedDelays>> Make(
      std::shared_ptr<DurationModel> model,
      const LearnedDelaysOptions& options = {});

  // Returns the same delays for waits that are played and not waited: the model
  // does not record them.
  std::shared_ptr<LearnedDelays> WithoutRecording() const;

  // Returns the schedule of an operation as the model is now. Takes about 1 ms.
  LearnedSchedule Schedule(std::string_view operation) const;

  DurationModel& model() const { return *model_; }
  const LearnedDelaysOptions& options() const { return options_; }

 private:
  friend class WaitPolicy;

  LearnedDelays(std::shared_ptr<DurationModel> model,
                const LearnedDelaysOptions& options, bool records)
      : model_(std::move(model)), options_(options), records_(records) {}

  // Returns the delays of an operation as the model is `now`, one object for
  // all its waits. Keeps those that nobody uses, up to `kMostKept` in all.
  std::shared_ptr<internal::LearnedOperation> Of(std::string_view operation,
                                                 MonotonicTime now);
  std::shared_ptr<internal::LearnedOperation> FindOrMake(
      std::string_view operation);

  static constexpr size_t kMostKept = 1000;

  const std::shared_ptr<DurationModel> model_;
  const LearnedDelaysOptions options_;
  const bool records_;
  internal::Mutex mutex_;
  absl::flat_hash_map<std::string, std::shared_ptr<internal::LearnedOperation>>
      operations_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace waiter

#endif  // WAITER_LEARNED_LEARNED_DELAYS_H_
