// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/telemetry/metrics.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter {
namespace {

constexpr std::array kInfos = std::to_array<InstrumentInfo>({
    {"waiter.wait.duration", "s", "Time from the start of a wait to its end.",
     InstrumentKind::kHistogram},
    {"waiter.wait.polls", "{poll}", "Number of polls of a wait.",
     InstrumentKind::kHistogram},
    {"waiter.wait.delay", "s", "Time that a wait slept between its polls.",
     InstrumentKind::kHistogram},
    {"waiter.poll.duration", "s", "Time of one poll.",
     InstrumentKind::kHistogram},
    {"waiter.wait.active", "{wait}", "Waits that have not ended.",
     InstrumentKind::kUpDownCounter},
});
static_assert(kInfos.size() == kInstruments.size());

// Waits last from milliseconds to hours.
constexpr BucketBounds kWaitBounds = {0.01, 0.1, 0.5, 1,   2,   5,    10,  20,
                                      30,   60,  120, 300, 600, 1800, 3600};
constexpr BucketBounds kPollBounds = {0.0005, 0.001, 0.0025, 0.005, 0.01,
                                      0.025,  0.05,  0.1,    0.25,  0.5,
                                      1,      2.5,   5,      10,    30};
constexpr BucketBounds kCountBounds = {1,  2,  3,  4,   6,   8,   12,  16,
                                       24, 32, 64, 128, 256, 512, 1024};

// The names of `absl::StatusCodeToString`, whose results are not views.
constexpr std::array<std::string_view, MetricSeries::kCodes> kCodeNames = {
    "",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED"};

// Returns the code of a wait that ended for `reason`, which is not `kFailed`.
absl::StatusCode CodeOf(StopReason reason) {
  switch (reason) {
    case StopReason::kSuccess:
      return absl::StatusCode::kOk;
    case StopReason::kDeadline:
      return absl::StatusCode::kDeadlineExceeded;
    case StopReason::kCancelled:
    case StopReason::kShutDown:
      return absl::StatusCode::kCancelled;
    case StopReason::kInvalidOptions:
      return absl::StatusCode::kInvalidArgument;
    default:
      return absl::StatusCode::kResourceExhausted;
  }
}

}  // namespace

const InstrumentInfo& InfoOf(Instrument instrument) {
  return kInfos[static_cast<size_t>(instrument)];
}

const BucketBounds& BoundsOf(Instrument instrument) {
  switch (instrument) {
    case Instrument::kPollDuration:
      return kPollBounds;
    case Instrument::kWaitPolls:
      return kCountBounds;
    default:
      return kWaitBounds;
  }
}

MetricSeries MetricSeries::WaitDuration(int operation_index,
                                        std::string_view operation,
                                        StopReason reason,
                                        absl::StatusCode code) {
  auto number = static_cast<size_t>(code);
  // A status may carry any number.
  if (number >= kCodes) {
    number = static_cast<size_t>(absl::StatusCode::kUnknown);
  }
  size_t ordinal = kFailedDurations + number;
  if (reason != StopReason::kFailed) {
    ordinal = static_cast<size_t>(reason);
    number = static_cast<size_t>(CodeOf(reason));
  }
  return {Instrument::kWaitDuration,
          operation_index,
          operation,
          ordinal,
          Byte(reason),
          static_cast<uint8_t>(number)};
}

std::string_view MetricSeries::stop_reason() const {
  return instrument_ == Instrument::kWaitDuration ||
                 instrument_ == Instrument::kWaitPolls
             ? StopReasonName(static_cast<StopReason>(label_))
             : std::string_view();
}

std::string_view MetricSeries::error_type() const { return kCodeNames[code_]; }

std::string_view MetricSeries::status() const {
  return instrument_ == Instrument::kPollDuration
             ? PollStatusName(static_cast<PollStatus>(label_))
             : std::string_view();
}

}  // namespace waiter
