// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Decides the meaning of an HTTP response for a poll. Programs include
// interop/http.h. Needs no libcurl, sends nothing and reads no clock, so that
// other HTTP clients can use it:
//
//   const waiter::HttpRules rules = {
//       .succeed_if = {waiter::JsonIs("status", "SUCCEEDED")},
//       .fail_if = {waiter::JsonIs("status", "FAILED"),
//                   waiter::StatusIn({{{410, 410}, {500, 599}}})}};
//   return waiter::JudgeHttp(rules, response, absl::Now()).ToPoll(response);

#ifndef WAITER_INTEROP_INTERNAL_HTTP_JUDGE_H_
#define WAITER_INTEROP_INTERNAL_HTTP_JUDGE_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
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

// The result of a condition.
struct HttpMatch {
  bool holds = false;

  // Whether the response says anything about it. A body that is not JSON, for
  // example, tells nothing about a member.
  bool is_known = true;

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

// Rules for the responses to one request. The first row that applies decides:
//
// | response                                        | poll                   |
// | ----------------------------------------------- | ---------------------- |
// | one of `fail_if` holds, for any status          | failed                 |
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
  enum class Reason : uint8_t {
    kStatus,     // The status, with its fields.
    kUnmet,      // One of `succeed_if` does not hold.
    kUnknown,    // The response does not decide `succeed_if`.
    kCondition,  // One of `fail_if` holds.
  };

  PollStatus status = PollStatus::kNotReady;
  Reason reason = Reason::kStatus;

  // The reason, if that is more than the status of the response: what one of
  // `succeed_if` misses, or which of `fail_if` holds, and the first line of the
  // server's error text.
  std::string why = {};

  // Delay before the next poll that the server asked for, and the part of the
  // response that says so, such as "Retry-After: 120". Of a value that is no
  // plausible time, `ignored_retry_after` has the text.
  RetryAfter retry_after = {};
  std::string retry_after_source = {};
  std::string ignored_retry_after = {};

  // Returns the answer of a poll that got `response`. Its text is "HTTP 503: "
  // and the reason phrase or `why`.
  Poll<> ToPoll(const HttpResponse& response) const;
};

// Judges `response`, which came at `now`. A pure function, if the conditions
// are.
//
// The `retry_after` is the longest of these. Numbers may have a fraction; a
// number that is a Unix time, in seconds or milliseconds, is one, and times
// count from the `Date` of the response. A delay of more than a week is
// ignored.
//
// | part of the response                       | counts                       |
// | ------------------------------------------ | ---------------------------- |
// | `Retry-After`, `retry-after-ms`,           | always; milliseconds win     |
// | `x-ms-retry-after-ms`, `x-amz-retry-after` | over `Retry-After`           |
// | and `openai-poll-after-ms`                 |                              |
// | `X-Poll-Interval`                          | always                       |
// | `RateLimit-Reset`, `X-RateLimit-Reset` and | if nothing remains, or after |
// | the `t` of `RateLimit`                     | 403, 429 and 503             |
// | `pollIntervalMs` of a JSON body            | up to its `ttlMs`            |
HttpVerdict JudgeHttp(const HttpRules& rules, const HttpResponse& response,
                      absl::Time now);

// Returns the body, which must be text in UTF-8, without the byte order mark
// that some servers write before JSON. Returns kInvalidArgument if the response
// has no body, by its status, or one in UTF-16.
absl::StatusOr<std::string_view> TextBodyOf(const HttpResponse& response);

// Returns the first line of the text of an error in a body: of `error.message`,
// `message`, `reason`, `statusMessage` or `error`, the first that is a string
// with text. Printable, and at most 200 characters; empty if none.
std::string ErrorTextOf(std::string_view body);

}  // namespace waiter

#endif  // WAITER_INTEROP_INTERNAL_HTTP_JUDGE_H_
