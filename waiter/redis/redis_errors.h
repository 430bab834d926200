// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// The meaning of errors of Redis.

#ifndef WAITER_REDIS_REDIS_ERRORS_H_
#define WAITER_REDIS_REDIS_ERRORS_H_

#include <string_view>

#include "absl/status/status.h"

namespace waiter::internal {

// Returns whether the server does not know a script.
bool IsUnknownScript(std::string_view error);

// Returns the status for an error reply. Its message names `address`. It is
// kAborted if the error is temporary and the script had no effect, and
// kInternal if its meaning is unknown.
absl::Status StatusOfError(std::string_view error, std::string_view address);

}  // namespace waiter::internal

#endif  // WAITER_REDIS_REDIS_ERRORS_H_
