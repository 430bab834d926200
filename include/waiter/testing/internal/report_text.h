// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Texts of the matchers of testing/matchers.h, which do not need gMock.

#ifndef WAITER_TESTING_INTERNAL_REPORT_TEXT_H_
#define WAITER_TESTING_INTERNAL_REPORT_TEXT_H_

#include <string>

#include "waiter/result.h"

namespace waiter::internal {

// Returns "success after 3 polls in 2s", followed by the error if there is one.
std::string ReportText(const WaitReport& report);

// Returns the message of a failure as the status function gave it.
std::string FailureMessage(const WaitReport& report);

}  // namespace waiter::internal

#endif  // WAITER_TESTING_INTERNAL_REPORT_TEXT_H_
