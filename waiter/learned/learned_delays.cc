// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/learned/learned_delays.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/random/bit_gen_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "waiter/clock.h"
#include "waiter/delay_source.h"
#include "waiter/internal/mutex.h"
#include "waiter/internal/string_views.h"
#include "waiter/learned/duration_estimate.h"
#include "waiter/learned/duration_text.h"
#include "waiter/learned/durations.h"
#include "waiter/learned/internal/duration_ring.h"
#include "waiter/learned/learned_operation.h"
#include "waiter/learned/poll_plan.h"
#include "waiter/learned/poll_table.h"
#include "waiter/text.h"

namespace waiter {
namespace {

using internal::InvalidOption;

// Up to this many durations, each one changes the table.
constexpr int64_t kFew = 32;
// After that, a new table is made after this many durations.
constexpr int64_t kEnough = 8;
constexpr std::chrono::milliseconds kRefreshGap(100);

}  // namespace

absl::Status Validate(const LearnedDelaysOptions& options) {
  // Each condition is written so that NaN fails it.
  const auto is_positive = [](double value) {
    return value > 0 && std::isfinite(value);
  };
  const int targets =
      static_cast<int>(options.seconds_of_delay_worth_one_poll.has_value()) +
      static_cast<int>(options.expected_polls.has_value()) +
      static_cast<int>(options.max_lateness.has_value());
  if (targets > 1) {
    return absl::InvalidArgumentError(
        "at most one of seconds_of_delay_worth_one_poll, expected_polls and "
        "max_lateness may be set");
  }
  const double worth = options.seconds_of_delay_worth_one_poll.value_or(1);
  if (!is_positive(worth)) {
    return InvalidOption("seconds_of_delay_worth_one_poll", worth,
                         "finite, and above zero");
  }
  const double polls = options.expected_polls.value_or(2);
  if (!(polls > 1 && std::isfinite(polls))) {
    return InvalidOption("expected_polls", polls, "finite, and above 1");
  }
  const absl::Duration lateness =
      options.max_lateness.value_or(absl::Seconds(1));
  if (lateness <= absl::ZeroDuration() ||
      lateness == absl::InfiniteDuration()) {
    return InvalidOption("max_lateness", absl::FormatDuration(lateness),
                         "finite, and above zero");
  }
  if (!(options.percentile > 0 && options.percentile < 1)) {
    return InvalidOption("percentile", options.percentile, "within (0, 1)");
  }
  if (!(options.max_relative_lateness > 0)) {
    return InvalidOption("max_relative_lateness", options.max_relative_lateness,
                         "above zero");
  }
  if (options.min_observations < 3) {
    return InvalidOption("min_observations", options.min_observations,
                         "at least 3");
  }
  if (!(options.exploration >= 0 && options.exploration <= 0.5)) {
    return InvalidOption("exploration", options.exploration, "within [0, 0.5]");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<LearnedDelays>> LearnedDelays::Make(
    std::shared_ptr<DurationModel> model, const LearnedDelaysOptions& options) {
  if (model == nullptr) {
    return absl::InvalidArgumentError("the DurationModel is null; pass one");
  }
  absl::Status status = Validate(options);
  if (!status.ok()) return status;
  return absl::WrapUnique(
      new LearnedDelays(std::move(model), options, /*records=*/true));
}

std::shared_ptr<LearnedDelays> LearnedDelays::WithoutRecording() const {
  return absl::WrapUnique(
      new LearnedDelays(model_, options_, /*records=*/false));
}

LearnedSchedule LearnedDelays::Schedule(std::string_view operation) const {
  LearnedSchedule schedule;
  std::vector<internal::DurationBounds> bounds;
  for (const ObservedDuration& duration : model_->Durations(operation)) {
    bounds.push_back(internal::ToBounds(duration));
  }
  const internal::DurationEstimate estimate =
      internal::EstimateDurations(bounds);
  double probability = 0;
  for (size_t i = 0; i < estimate.mass.size(); ++i) {
    probability += estimate.mass[i];
    schedule.distribution.push_back(
        {.time = absl::Seconds(estimate.grid.Edge(static_cast<int32_t>(i) + 1)),
         .probability = probability});
  }
  const internal::PollPlan plan = internal::PlanPolls(estimate, options_);
  schedule.weight = static_cast<double>(plan.table.weight);
  for (const float time : plan.times) {
    schedule.polls.push_back(absl::Seconds(time));
  }
  schedule.expected_polls = plan.polls;
  schedule.expected_lateness = absl::Seconds(plan.lateness);
  schedule.seconds_of_delay_worth_one_poll =
      plan.seconds_of_delay_worth_one_poll;
  return schedule;
}

std::shared_ptr<DelaySource> LearnedDelays::ForOperation(
    std::string_view operation, Clock& clock) {
  std::shared_ptr<internal::LearnedOperation> found = FindOrMake(operation);
  found->Refresh(clock.MonotonicNow());
  return found;
}

std::shared_ptr<DelaySource> LearnedDelays::ForSimulation() const {
  return WithoutRecording();
}

std::optional<absl::Duration> LearnedDelays::NextDelay(
    const DelayRequest& request, absl::BitGenRef gen) {
  return FindOrMake("")->NextDelay(request, gen);
}

std::shared_ptr<internal::LearnedOperation> LearnedDelays::FindOrMake(
    std::string_view operation) {
  const internal::MutexLock lock(mutex_);
  const auto found = operations_.find(internal::ToAbsl(operation));
  if (found != operations_.end()) return found->second;
  if (operations_.size() >= kMaxKept) {
    absl::erase_if(operations_, [](const auto& entry) {
      return entry.second.use_count() == 1;
    });
  }
  auto made = std::make_shared<internal::LearnedOperation>(
      model_, options_, std::string(operation), records_);
  operations_.emplace(operation, made);
  return made;
}

namespace internal {

LearnedOperation::LearnedOperation(std::shared_ptr<DurationModel> model,
                                   const LearnedDelaysOptions& options,
                                   std::string name, bool records)
    : model_(std::move(model)),
      options_(options),
      name_(std::move(name)),
      records_(records) {}

std::optional<absl::Duration> LearnedOperation::NextDelay(
    const DelayRequest& request, absl::BitGenRef gen) {
  constexpr float kNanosecond = 1e-9F;
  const auto elapsed =
      static_cast<float>(absl::ToChronoNanoseconds(request.elapsed).count());
  const LearnedDelay found = table_.Find(elapsed * kNanosecond, gen());
  if (found.delay <= 0) return std::nullopt;  // There is no table.
  if (found.weight <= 0) return request.computed();
  const auto seconds = static_cast<double>(found.delay);
  if (found.weight >= 1) return absl::Seconds(seconds);
  const std::chrono::duration<double> computed =
      absl::ToChronoNanoseconds(request.computed());
  const double other = std::max(computed.count(), 1e-9);
  return absl::Seconds(other * std::pow(seconds / other, found.weight));
}

void LearnedOperation::RecordDuration(const ObservedDuration& duration,
                                      MonotonicTime now) {
  if (!records_) return;
  model_->Record(name_, duration);
  Refresh(now);
}

void LearnedOperation::Refresh(MonotonicTime now) {
  // A time far before the next refresh comes from another clock.
  const std::chrono::nanoseconds left(
      next_refresh_.load(std::memory_order_relaxed) -
      now.time_since_epoch().count());
  if (left > std::chrono::nanoseconds::zero() && left <= kRefreshGap) return;
  if (is_refreshing_.exchange(true, std::memory_order_acquire)) return;
  std::vector<DurationBounds> bounds;
  const DurationModel::Known found = model_->BoundsSince(known_, name_, bounds);
  // An operation that was forgotten in between starts again.
  const bool is_new = found.number != known_.number;
  const int64_t news = found.added - known_.added;
  if (is_new || news >= (known_.added < kFew ? 1 : kEnough)) {
    table_.Store(PlanPolls(EstimateDurations(bounds), options_).table);
    known_ = found;
    if (found.added >= kFew) {
      next_refresh_.store(
          SaturatingAdd(now, kRefreshGap).time_since_epoch().count(),
          std::memory_order_relaxed);
    }
  }
  is_refreshing_.store(false, std::memory_order_release);
}

}  // namespace internal

}  // namespace waiter
