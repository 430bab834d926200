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

// Returns the status for an error reply. Its message names `address`.
//
//   LOADING BUSY READONLY MASTERDOWN       kAborted: it is temporary, and the
//   CLUSTERDOWN TRYAGAIN NOREPLICAS          script had no effect
//   OOM                                    kResourceExhausted
//   NOAUTH WRONGPASS                       kUnauthenticated
//   NOPERM                                 kPermissionDenied
//   WRONGTYPE MOVED ASK CROSSSLOT          kFailedPrecondition
//   all others                             kInternal
absl::Status StatusOfError(std::string_view error, std::string_view address);

}  // namespace waiter::internal

#endif  // WAITER_REDIS_REDIS_ERRORS_H_
