// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// One HTTP/1.1 GET over a socket of its own, for those who only want to know
// how a server answers: it reads the head of the answer and not the body.
//
//   absl::StatusOr<HttpResponse> answer =
//       HttpGet(url, context.timeout, context.stop_token);

#ifndef WAITER_EXAMPLES_HTTP_GET_H_
#define WAITER_EXAMPLES_HTTP_GET_H_

#include <stop_token>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "examples/url.h"
#include "waiter/retry_after.h"

namespace waiter_examples {

struct HttpResponse {
  int code = 0;        // From 200 to 599.
  std::string reason;  // As the server put it, fit to be printed; may be empty.

  // What Retry-After or its like said, the first of several.
  waiter::RetryAfter retry_after = {};
};

// Returns the first final answer of the server, or
//
//   kNotFound          nothing is there: no such name, connection refused
//   kUnavailable       the connection was lost, the network is unreachable, ...
//   kDeadlineExceeded  `timeout` passed
//   kCancelled         `stop` was requested, which ends the call at once
//   kDataLoss          the answer is not HTTP, or its head is over 16 KiB
//
// or another code for what the system refuses. Thread-safe.
absl::StatusOr<HttpResponse> HttpGet(const Url& url, absl::Duration timeout,
                                     const std::stop_token& stop);

// Parses status line and header fields of an answer that came at `now`. An
// interim one (1xx) is no error.
absl::StatusOr<HttpResponse> ParseResponseHead(std::string_view head,
                                               absl::Time now);

}  // namespace waiter_examples

#endif  // WAITER_EXAMPLES_HTTP_GET_H_
