// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Polls of an HTTP server, by this table:
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
// Retry-After is read from 429 and 5xx.

#ifndef WAITER_EXAMPLES_HTTP_POLL_H_
#define WAITER_EXAMPLES_HTTP_POLL_H_

#include "absl/status/statusor.h"
#include "examples/http_get.h"
#include "examples/url.h"
#include "waiter/poll.h"
#include "waiter/poll_context.h"

namespace waiter_examples {

// Polls the server of `url`. The answer must come within the timeout of
// `context`.
waiter::Poll<> PollUrl(const Url& url, const waiter::PollContext& context);

// Returns the poll that `answer` means, by the table above.
waiter::Poll<> PollOf(const absl::StatusOr<HttpResponse>& answer);

}  // namespace waiter_examples

#endif  // WAITER_EXAMPLES_HTTP_POLL_H_
