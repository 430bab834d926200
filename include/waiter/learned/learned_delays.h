// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Polls when the answer is likely, with delays learned from how long earlier
// waits for the same operation took.
//
//   auto durations = std::make_shared<waiter::DurationModel>();
//   auto learned = waiter::LearnedDelays::Make(durations);
//   if (!learned.ok()) return learned.status();
//
//   waiter::Waiter wait(GetStatus, {.operation = "create instance",
//                                   .timeout = absl::Minutes(10),
//                                   .delay_source = *learned});
//
// Every such wait polls by the model and adds its duration to it. A
// `DurationFile` (learned/durations.h) keeps durations beyond the process.
//
// Learned delays replace the backoff after "not ready", and nothing else:
// throttled answers and server errors keep their backoffs, and `retry_after`,
// budgets, limits and deadlines apply as usual. With few durations, beyond all
// known durations, and after an evident change, the delays gradually approach
// the options' backoff. docs/learned.md explains the rule and shows its
// savings.

#ifndef WAITER_LEARNED_LEARNED_DELAYS_H_
#define WAITER_LEARNED_LEARNED_DELAYS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/random/bit_gen_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/delay_source.h"
#include "waiter/internal/mutex.h"
#include "waiter/learned/durations.h"
#include "waiter/version.h"

namespace waiter {

// Target and limits of learned delays. At most one target may be set. By
// default, the average lateness is that of the default backoff of
// `WaitOptions`, with fewer polls. If you know what a second of delay is worth,
// set it:
//
//   {.seconds_of_delay_worth_one_poll = 2}
//
// or set a number of polls, or a maximum lateness:
//
//   {.expected_polls = 6}
//   {.max_lateness = absl::Seconds(5), .percentile = 0.95}
struct LearnedDelaysOptions {
  // Target: the poll times that minimize polls + lateness / this, on average.
  // Lateness is the time from the end of the operation to the poll that finds
  // it. Finite, above zero.
  std::optional<double> seconds_of_delay_worth_one_poll = std::nullopt;

  // Target: this many polls per wait on average, including the one at the
  // start, and as little lateness as they allow. Finite, above one.
  std::optional<double> expected_polls = std::nullopt;

  // Target: a share `percentile` of the waits is at most this late, with as few
  // polls as that takes. Finite, above zero.
  OptionalDuration max_lateness = std::nullopt;

  // Within (0, 1). Used only with `max_lateness`.
  double percentile = 0.95;

  // Limits the cost of a wrong model. The first poll after the start comes no
  // later than the model's first poll time divided by 1 +
  // max_relative_lateness. After that poll, a poll at t is followed by one at t
  // * (1 + max_relative_lateness) or earlier, which finds any end in between.
  // Above zero; infinite: no limit. It does not limit the share of a delay that
  // the backoff decides, nor delays beyond all known durations.
  double max_relative_lateness = 1;

  // With this many durations, the model replaces the backoff entirely. From two
  // on, it takes over gradually. Durations without an end do not count, and
  // older ones count less; all together count as at most 92, so if this is
  // larger, the backoff always has a share. At least 3.
  int64_t min_observations = 8;

  // Share of the polls that come early, at a random fraction of their delay, to
  // notice when durations become shorter. This share of the polls is wasted.
  // Within [0, 0.5].
  double exploration = 0.01;
};

// Returns OK, or kInvalidArgument with the field, its value and its range.
absl::Status Validate(const LearnedDelaysOptions& options);

// The schedule of an operation and its expected cost, for people. All times are
// from the start of a wait. With too few durations, or if the backoff of the
// options is better, it is empty except for the distribution.
struct LearnedSchedule {
  // The model's share of each delay, within [0, 1].
  double weight = 0;
  // Times of the polls after the one at the start, without jitter, for as long
  // as known durations last.
  std::vector<absl::Duration> polls;
  double expected_polls = 0;
  absl::Duration expected_lateness = absl::ZeroDuration();
  // The exchange rate that meets the target of the options.
  double seconds_of_delay_worth_one_poll = 0;

  // The distribution of the durations: the probability of an end by `time`.
  struct Point {
    absl::Duration time;
    double probability;
  };
  std::vector<Point> distribution;
};

// Thread-safe. Waits share ownership of its parts, so it may be destroyed
// before they end. An operation's delays are updated from the model when a
// policy or `Waiter` is made and when a wait is recorded, at most ten times per
// second once there are many durations.
class LearnedDelays : public DelaySource {
 public:
  // Returns an error if `model` is null, or the error of `Validate`.
  static absl::StatusOr<std::shared_ptr<LearnedDelays>> Make(
      std::shared_ptr<DurationModel> model,
      const LearnedDelaysOptions& options = {});

  // Returns the same delays for simulated waits, which the model does not
  // record.
  std::shared_ptr<LearnedDelays> WithoutRecording() const;

  // Returns the schedule of an operation by the current model. Takes about 1
  // ms.
  LearnedSchedule Schedule(std::string_view operation) const;

  DurationModel& model() const { return *model_; }
  const LearnedDelaysOptions& options() const { return options_; }

  // Returns the delays of an operation by the current model, one object for all
  // its waits. Keeps up to `kMaxKept` objects, including unused ones.
  std::shared_ptr<DelaySource> ForOperation(std::string_view operation,
                                            Clock& clock) override;
  std::shared_ptr<DelaySource> ForSimulation() const override;
  Replaces replaces() const override { return Replaces::kBackoff; }
  // Uses the operation with the empty name.
  std::optional<absl::Duration> NextDelay(const DelayRequest& request,
                                          absl::BitGenRef gen) override;
  bool records_durations() const override { return records_; }

 private:
  LearnedDelays(std::shared_ptr<DurationModel> model,
                const LearnedDelaysOptions& options, bool records)
      : model_(std::move(model)), options_(options), records_(records) {}

  std::shared_ptr<internal::LearnedOperation> FindOrMake(
      std::string_view operation);

  static constexpr size_t kMaxKept = 1000;

  const std::shared_ptr<DurationModel> model_;
  const LearnedDelaysOptions options_;
  const bool records_;
  internal::Mutex mutex_;
  absl::flat_hash_map<std::string, std::shared_ptr<internal::LearnedOperation>>
      operations_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace waiter

#endif  // WAITER_LEARNED_LEARNED_DELAYS_H_
