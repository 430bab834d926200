// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Writes durations for people, in about three digits, and times for programs:
//
//   waiter::cli::TimeText(absl::Seconds(1.23456));   // "1.23s"
//   waiter::cli::TimeText(absl::Seconds(123.456));   // "2m3s"
//   waiter::cli::IsoTime(absl::UnixEpoch());  // "1970-01-01T00:00:00.000Z"

#ifndef WAITER_CLI_TEXT_TIME_TEXT_H_
#define WAITER_CLI_TEXT_TIME_TEXT_H_

#include <string>

#include "absl/time/time.h"

namespace waiter::cli {

// Returns `duration`, rounded to the precision that people read, in a form that
// `absl::ParseDuration` accepts.
std::string TimeText(absl::Duration duration);

// Returns `time` in UTC by ISO 8601, to the millisecond.
std::string IsoTime(absl::Time time);

}  // namespace waiter::cli

#endif  // WAITER_CLI_TEXT_TIME_TEXT_H_
