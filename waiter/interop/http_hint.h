// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// When the server of an HTTP response wants the next poll, and which part of
// the response says so.
//
// | part of the response                    | counts                          |
// | --------------------------------------- | ------------------------------- |
// | `Retry-After`, or a field in ms         | always; ms win over seconds     |
// | `X-Poll-Interval` (GitHub, seconds)     | always                          |
// | `RateLimit-Reset`, `X-RateLimit-Reset`, | if nothing remains, or the      |
// | `RateLimit: r=0;t=30` (IETF)            | status is 403, 429 or 503       |
// | `pollIntervalMs` of a JSON body (tasks  | always; `ttlMs`, the time that  |
// | of MCP)                                 | the task is kept, limits it     |
//
// The longest one is the earliest time of the next poll. Zero is
// ignored.

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

  // Whether the server asks clients to stay away: by the first row.
  bool asks_to_wait = false;
};

// Reads the hint of `response`, which came at `now`.
HttpHint HintOfResponse(const HttpResponse& response, absl::Time now);

}  // namespace waiter::internal

#endif  // WAITER_INTEROP_HTTP_HINT_H_
