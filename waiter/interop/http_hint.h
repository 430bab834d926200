// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// When the server of an HTTP response wants the next poll, and which part of
// the response says so, by the table of `JudgeHttp` (internal/http_judge.h).
// Zero is ignored.

#ifndef WAITER_INTEROP_HTTP_HINT_H_
#define WAITER_INTEROP_HTTP_HINT_H_

#include <string>

#include "absl/time/time.h"
#include "waiter/classify.h"
#include "waiter/interop/internal/http_message.h"

namespace waiter::internal {

struct HttpHint {
  RetryAfter delay = {};

  // The part that sets `delay`, such as "Retry-After: 120".
  std::string source = {};

  // The first part whose value is not a plausible time, or nothing.
  std::string ignored = {};

  // Whether the server asks clients to stay away: by the first row of the
  // table.
  bool asks_to_wait = false;
};

// Reads the hint of `response`, which came at `now`.
HttpHint HintOfResponse(const HttpResponse& response, absl::Time now);

}  // namespace waiter::internal

#endif  // WAITER_INTEROP_HTTP_HINT_H_
