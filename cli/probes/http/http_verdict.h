// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Maps HTTP answers to findings, by the rules of the library (`HttpRules` in
// waiter/interop/http.h) and the flags.
//
//   done(waiter::cli::JudgeHttp(options, answer, GetRealClock().TimeNow()));
//
// | answer                                     | poll                         |
// | ------------------------------------------ | ---------------------------- |
// | any answer                                 | as `HttpRules` says          |
// | 404, 408, 409, 425, 503                    | not ready, unless throttled  |
// | no connection                              | as for other targets         |
// |                                            | (connect_failure.h)          |
// | name not found                             | not ready                    |
// | TLS or protocol errors, no answer in time  | server error                 |
//
// The library treats 404 and 409 as failures, and 408, 425 and 503 as server
// errors, because it cannot know that the resource is still to come. Here users
// wait for just that, and servers answer so while they start. 202 is a success
// if 2xx is expected, because the user decides what to wait for.

#ifndef WAITER_CLI_PROBES_HTTP_HTTP_VERDICT_H_
#define WAITER_CLI_PROBES_HTTP_HTTP_VERDICT_H_

#include "absl/time/time.h"
#include "cli/probes/http/http_answer.h"
#include "cli/probes/http/http_options.h"
#include "cli/probes/probe.h"
#include "waiter/interop/http.h"

namespace waiter::cli {

// Judges `answer`, which came at `now`; a `Retry-After` may be a date. Has no
// side effects.
Finding JudgeHttp(const HttpOptions& options, const HttpAnswer& answer,
                  absl::Time now);

// Judges a request that has taken `timeout`, with `answer` so far. The lines of
// a body that has not ended may satisfy `body` and `fail_body`, and so decide.
Finding JudgeHttpTimeout(const HttpOptions& options, const HttpAnswer& answer,
                         absl::Duration timeout, absl::Time now);

// Returns the conditions of `options`, without the meanings of statuses, for an
// operation. An expression that exceeds a limit is one that fails. `options`
// must outlive the result.
HttpRules ConditionsOf(const HttpOptions& options);

// Puts the value of --print in a successful answer into `finding`. Without one,
// the finding is failed, as a later answer would be the same.
void PrintInto(const HttpOptions& options, const HttpAnswer& answer,
               Finding& finding);

}  // namespace waiter::cli

#endif  // WAITER_CLI_PROBES_HTTP_HTTP_VERDICT_H_
