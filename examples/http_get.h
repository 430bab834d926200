// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// One HTTP/1.1 GET over its own socket. It reads the head of the answer and not
// the body, which is enough to learn whether a server is ready.
//
//   absl::StatusOr<HttpResponse> answer =
//       HttpGet(url, context.timeout, context.stop_token);

#ifndef WAITER_EXAMPLES_HTTP_GET_H_
#define WAITER_EXAMPLES_HTTP_GET_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "examples/url.h"
#include "waiter/retry_after.h"
#include "waiter/stop_token.h"

namespace waiter_examples {

// The head of an answer.
struct HttpResponse {
  int code = 0;        // From 200 to 599.
  std::string reason;  // Reason phrase, made printable; may be empty.

  // Delay from the first Retry-After field or a variant of it.
  waiter::RetryAfter retry_after = {};
};

// Returns the first final answer of the server, or an error:
//
//   kNotFound          no such name, or the connection was refused
//   kUnavailable       the connection was lost, the network is unreachable, ...
//   kDeadlineExceeded  `timeout` passed
//   kCancelled         `stop` was requested, which ends the call at once
//   kDataLoss          the answer is not HTTP, or its head is over 16 KiB
//
// Other codes come from failed system calls. Thread-safe.
absl::StatusOr<HttpResponse> HttpGet(const Url& url, absl::Duration timeout,
                                     const waiter::stop_token& stop);

// Parses the status line and the header fields of an answer that was received
// at `now`. An interim answer (1xx) is not an error.
absl::StatusOr<HttpResponse> ParseResponseHead(std::string_view head,
                                               absl::Time now);

}  // namespace waiter_examples

#endif  // WAITER_EXAMPLES_HTTP_GET_H_
