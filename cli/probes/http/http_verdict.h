// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// What an HTTP answer means to a wait.
//
//   done(waiter::cli::JudgeHttp(options, answer, GetRealClock().TimeNow()));
//
// | answer                                     | poll                         |
// | ------------------------------------------ | ---------------------------- |
// | status, headers and body as expected       | success                      |
// | status as expected, the rest is not        | not ready                    |
// | a status of `not_ready_on`                 | not ready                    |
// | 503 that says when to ask again            | throttled                    |
// | 404, 408, 409, 425, 503                    | not ready                    |
// | 2xx that is not expected                   | not ready                    |
// | every other status                         | as of `ClassOfHttp`          |
// | no connection                              | as for other targets         |
// |                                            | (connector.h)                |
// | name not found                             | not ready                    |
// | TLS or protocol errors, no answer in time  | server error                 |
//
// The library takes 404 and 409 for failures and 408, 425 and 503 for server
// errors, as it cannot know that what is asked for is still to come; here that
// is what one waits for, and what a server says while it starts. 202 is success
// where 2xx is expected: it is the user who says what is waited for.

#ifndef WAITER_CLI_PROBES_HTTP_HTTP_VERDICT_H_
#define WAITER_CLI_PROBES_HTTP_HTTP_VERDICT_H_

#include "absl/time/time.h"
#include "cli/probes/http/http_answer.h"
#include "cli/probes/http/http_options.h"
#include "cli/probes/probe.h"

namespace waiter::cli {

// Returns what `answer` means. `now`, when it came, is for a `Retry-After` that
// is a date. Pure.
Finding JudgeHttp(const HttpOptions& options, const HttpAnswer& answer,
                  absl::Time now);

// Returns what a request means that had no more time than `timeout`, and had
// come as far as `answer`.
Finding JudgeHttpTimeout(const HttpAnswer& answer, absl::Duration timeout);

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_HTTP_HTTP_VERDICT_H_
