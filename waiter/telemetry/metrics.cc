// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "waiter/telemetry/metrics.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "waiter/poll_status.h"
#include "waiter/wait_report.h"

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

// Ordinals within an operation. The five sections do not overlap.
constexpr size_t kReasons = 10;
constexpr size_t kCodes = 17;
constexpr size_t kStatuses = 5;
constexpr size_t kFailedDurations = kReasons;
constexpr size_t kPolls = kFailedDurations + kCodes;
constexpr size_t kDelay = kPolls + kReasons;
constexpr size_t kPollDurations = kDelay + 1;
constexpr size_t kActive = kPollDurations + kStatuses;
static_assert(kActive < MetricSeries::kPerOperation);

// The names of `absl::StatusCodeToString`, whose results are no views.
constexpr std::array<std::string_view, kCodes> kCodeNames = {
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
  if (number >= kCodes)
    number = static_cast<size_t>(absl::StatusCode::kUnknown);
  return {Instrument::kWaitDuration, operation_index, operation,
          static_cast<uint8_t>(reason), static_cast<uint8_t>(number)};
}

MetricSeries MetricSeries::WaitPolls(int operation_index,
                                     std::string_view operation,
                                     StopReason reason) {
  return {Instrument::kWaitPolls, operation_index, operation,
          static_cast<uint8_t>(reason), 0};
}

MetricSeries MetricSeries::WaitDelay(int operation_index,
                                     std::string_view operation) {
  return {Instrument::kWaitDelay, operation_index, operation, 0, 0};
}

MetricSeries MetricSeries::PollDuration(int operation_index,
                                        std::string_view operation,
                                        PollStatus status) {
  return {Instrument::kPollDuration, operation_index, operation,
          static_cast<uint8_t>(status), 0};
}

MetricSeries MetricSeries::WaitActive(int operation_index,
                                      std::string_view operation) {
  return {Instrument::kWaitActive, operation_index, operation, 0, 0};
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

size_t MetricSeries::ordinal() const {
  size_t within = 0;
  switch (instrument_) {
    case Instrument::kWaitDuration:
      // Only a failure of the status function leaves the code open.
      within = static_cast<StopReason>(label_) == StopReason::kFailed
                   ? kFailedDurations + code_
                   : label_;
      break;
    case Instrument::kWaitPolls:
      within = kPolls + label_;
      break;
    case Instrument::kWaitDelay:
      within = kDelay;
      break;
    case Instrument::kPollDuration:
      within = kPollDurations + label_;
      break;
    case Instrument::kWaitActive:
      within = kActive;
      break;
  }
  return static_cast<size_t>(operation_index_) * kPerOperation + within;
}

}  // namespace waiter
