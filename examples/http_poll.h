// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// What an HTTP answer means to a wait:
//
// | answer                         | poll         |
// | ------------------------------ | ------------ |
// | 2xx                            | success      |
// | 429                            | throttled    |
// | 5xx                            | server error |
// | 3xx, other 4xx                 | failed       |
// | connection refused, no such    | not ready    |
// | host: nothing is there yet     |              |
// | timeout, lost connection, not  | server error |
// | HTTP: this poll could not tell |              |
//
// Retry-After counts with 429 and 5xx.

#ifndef WAITER_EXAMPLES_HTTP_POLL_H_
#define WAITER_EXAMPLES_HTTP_POLL_H_

#include "absl/status/statusor.h"
#include "examples/http_get.h"
#include "examples/url.h"
#include "waiter/poll.h"
#include "waiter/poll_context.h"

namespace waiter_examples {

// Asks the server of `url`, for as long as `context` allows.
waiter::Poll<> PollUrl(const Url& url, const waiter::PollContext& context);

// The table above.
waiter::Poll<> PollOf(const absl::StatusOr<HttpResponse>& answer);

}  // namespace waiter_examples

#endif  // WAITER_EXAMPLES_HTTP_POLL_H_
