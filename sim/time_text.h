// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Durations for people: three digits are enough.
//
//   waiter::TimeText(absl::Seconds(1.23456));   // "1.23s"
//   waiter::TimeText(absl::Seconds(123.456));   // "2m3s"

#ifndef WAITER_SIM_TIME_TEXT_H_
#define WAITER_SIM_TIME_TEXT_H_

#include <string>

#include "absl/time/time.h"

namespace waiter {

// Returns `duration`, rounded to what people look at, as `absl::ParseDuration`
// reads it.
std::string TimeText(absl::Duration duration);

}  // namespace waiter

#endif  // WAITER_SIM_TIME_TEXT_H_
