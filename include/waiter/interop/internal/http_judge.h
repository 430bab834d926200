// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// What an HTTP response means to a poll: the part of interop/http.h, which
// programs include, that judges. Needs no libcurl, sends nothing and reads no
// clock, so that other HTTP clients can use it:
//
//   const waiter::HttpRules rules = {
//       .succeed_if = {waiter::JsonIs("status", "SUCCEEDED")},
//       .fail_if = {waiter::JsonIs("status", "FAILED"),
//                   waiter::StatusIn({{{410, 410}, {500, 599}}})}};
//   return waiter::JudgeHttp(rules, response, absl::Now()).ToPoll(response);

#ifndef WAITER_INTEROP_INTERNAL_HTTP_JUDGE_H_
#define WAITER_INTEROP_INTERNAL_HTTP_JUDGE_H_

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "waiter/classify.h"
#include "waiter/interop/internal/http_message.h"
#include "waiter/poll.h"

namespace waiter {

// A set of HTTP statuses.
struct HttpStatusSet {
  struct Range {
    int first;
    int last;  // Included.
  };

  std::vector<Range> ranges = {};

  bool Contains(int status) const {
    return std::any_of(ranges.begin(), ranges.end(), [&](const Range& range) {
      return range.first <= status && status <= range.last;
    });
  }
};

// What a condition found in a response.
struct HttpMatch {
  bool holds = false;

  // A few words for messages, such as `.status is "FAILED"`. If empty, the
  // status of the response says it all.
  std::string found = {};
};

// A condition on a response. Any function of the response is one.
using HttpCondition = std::function<HttpMatch(const HttpResponse&)>;

// Holds for the statuses of a set.
HttpCondition StatusIn(HttpStatusSet statuses);

// Holds if the body contains `text`.
HttpCondition BodyContains(std::string text);

// Holds if the body is JSON in which the members that `path` names, separated
// by dots, lead to `value`: the text of a string, or anything else as JSON
// writes it. `JsonIs("job.state", "DONE")`, `JsonIs("done", "true")`.
HttpCondition JsonIs(std::string path, std::string value);

// What the responses to one request mean. The first row that applies decides:
//
// | response                                        | poll                   |
// | ----------------------------------------------- | ---------------------- |
// | one of `fail_if` holds, whatever the status     | failed                 |
// | `ready_on` has the status or, if that is empty, | success if all of      |
// | its class is success                            | `succeed_if` hold, in  |
// |                                                 | this same response;    |
// |                                                 | otherwise not ready    |
// | `not_ready_on` has the status                   | not ready              |
// | 403 with a `retry_after`, or with               | throttled              |
// | `X-RateLimit-Remaining: 0`                      |                        |
// | 429 or 503 with a `retry_after`, or with fields | throttled              |
// | that limit the rate (`RateLimit`,               |                        |
// | `RateLimit-Reset`, `X-RateLimit-Reset` ...)     |                        |
// | 2xx, although `ready_on` lacks it               | not ready              |
// | every other                                     | the class of the       |
// |                                                 | status                 |
struct HttpRules {
  ErrorClassifier classifier = ErrorClassifier::Http();
  HttpStatusSet ready_on = {};
  HttpStatusSet not_ready_on = {};
  std::vector<HttpCondition> succeed_if = {};
  std::vector<HttpCondition> fail_if = {};
};

struct HttpVerdict {
  PollStatus status = PollStatus::kNotReady;

  // What decided, if that is more than the status of the response: what one of
  // `succeed_if` misses, or which of `fail_if` holds, and the first line of the
  // server's error text.
  std::string why = {};

  // Whether the status was as wanted, but one of `succeed_if` does not hold.
  bool is_unmet = false;

  // When the server wants the next poll.
  RetryAfter retry_after = {};

  // Returns the answer of a poll that got `response`. Its text is "HTTP 503: "
  // and the reason phrase or `why`.
  Poll<> ToPoll(const HttpResponse& response) const;
};

// Judges `response`, which came at `now`. A pure function, if the conditions
// are.
HttpVerdict JudgeHttp(const HttpRules& rules, const HttpResponse& response,
                      absl::Time now);

// Returns the first line of the text of an error in a body: of
// `error.message`, `message`, `reason`, `statusMessage` or `error`, the first
// that is a string with text. Printable, and at most 200 characters; empty if
// there is none.
std::string ErrorTextOf(std::string_view body);

}  // namespace waiter

#endif  // WAITER_INTEROP_INTERNAL_HTTP_JUDGE_H_
