// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Polls over HTTP by libcurl. Until a server is ready:
//
//   waiter::Waiter wait(
//       waiter::HttpPoller({.url = "http://localhost:8080/ready"}),
//       {.timeout = absl::Minutes(1), .poll_timeout = absl::Seconds(5)});
//   if (!wait.Wait(stop_token).ok()) return;
//
// Until a job is done, with the result as the value of the wait:
//
//   waiter::Waiter wait(
//       waiter::HttpPoller(
//           {.url = "https://example.com/jobs/7",
//            .headers = {{"Authorization", "Bearer " + token}}},
//           [](const waiter::HttpResponse& response) -> waiter::Poll<Job> {
//             absl::StatusOr<Job> job = ParseJob(response.body);
//             if (!job.ok()) return waiter::Failed(job.status());
//             if (job->state == "FAILED") return waiter::Failed(job->reason);
//             if (job->state != "DONE") return waiter::NotReady(job->state);
//             return waiter::Success(*std::move(job));
//           },
//           {.classifier = waiter::ErrorClassifier::Http().With(
//                404, waiter::PollStatus::kNotReady)}),
//       {.timeout = absl::Minutes(10), .poll_timeout = absl::Seconds(30)});
//
// | the request                            | poll                             |
// | -------------------------------------- | -------------------------------- |
// | is answered                            | by the class of the status; the  |
// |                                        | function judges a success        |
// | reaches no server: refused, unknown    | `unreachable`: not ready         |
// | host                                   |                                  |
// | takes longer than the poll may         | server error, kDeadlineExceeded  |
// | is answered in part, or not in HTTP    | server error, kUnavailable       |
// | meets too many redirects               | failed, kFailedPrecondition      |
// | is answered at too great length        | failed, kOutOfRange              |
// | cannot be made: a bad URL, for example | failed, kInvalidArgument         |
// | is under way when a stop is requested  | not ready; the wait ends         |
//
// A job that may fail needs no function: the conditions of `HttpOptions` read
// its JSON, and the message has the server's reason.
//
//   waiter::HttpPoller({.url = "https://example.com/jobs/7"},
//                      {.succeed_if = {waiter::JsonIs("state", "DONE")},
//                       .fail_if = {waiter::JsonIs("state", "FAILED")}})
//
// "Server error" stands for the class that the classifier gives a
// `kConnection`. An answer after which the wait continues has the `retry_after`
// of the response.
//
// libcurl is not a dependency of Waiter: a program that uses `HttpPoller`
// provides it and links it (`-lcurl`). Needs 7.68 (2020) or newer. Where its
// headers are missing, there is no `HttpPoller`, but everything else is there:
// `HttpRequest` and `HttpResponse` (internal/http_message.h), what a response
// means (`JudgeHttp` in internal/http_judge.h), and cheap polls (`HttpMemory`
// in internal/http_memory.h), for clients of your own.

#ifndef WAITER_INTEROP_HTTP_H_
#define WAITER_INTEROP_HTTP_H_

#include "waiter/interop/internal/http_judge.h"      // IWYU pragma: export
#include "waiter/interop/internal/http_memory.h"     // IWYU pragma: export
#include "waiter/interop/internal/http_message.h"    // IWYU pragma: export
#include "waiter/interop/internal/http_operation.h"  // IWYU pragma: export

#if __has_include(<curl/curl.h>)

#include <curl/curl.h>

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "waiter/classify.h"
#include "waiter/interop/internal/curl_client.h"
#include "waiter/interop/internal/http_answer.h"
#include "waiter/interop/internal/to_poll.h"
#include "waiter/poll.h"

namespace waiter {

struct HttpOptions {
  // Class of each status. A response whose class is success goes to the
  // function, whatever its number.
  ErrorClassifier classifier = ErrorClassifier::Http();

  // Conditions on the response, by the table of `HttpRules`: one of `fail_if`
  // ends the wait as failed, whatever the status, and all of `succeed_if` must
  // hold before a response of the class success goes to the function. Statuses
  // in `ready_on`, unless that is empty, are those that have this class.
  std::vector<HttpCondition> succeed_if = {};
  std::vector<HttpCondition> fail_if = {};
  HttpStatusSet ready_on = {};

  // Answer if no server is reached. kServerError suits a server that should be
  // there, and kFailed a host that may be misspelt.
  PollStatus unreachable = PollStatus::kNotReady;

  // Maximum size of a body, in bytes. The rest of a larger one is not read. A
  // function does not get it, so the poll is failed; without a function it is
  // cut.
  size_t max_body = 1 << 20;

  // Number of redirects that a GET or HEAD without a body follows, to http and
  // https only. For all other requests, and with zero for every request, the
  // redirect itself is the response.
  int max_redirects = 10;

  // Called once, before the first poll, for further options of libcurl: trust,
  // proxies, authentication. Must not set the callbacks for header and body.
  std::function<void(CURL*)> configure = nullptr;
};

// A status function that makes one request per poll. If a GET was answered with
// an `ETag` or a `Last-Modified`, the next poll asks for a newer answer only,
// and after a 304 the earlier response is judged again. A field `Cache-Control`
// in the request turns that off.
//
// `Judge` is called with an `HttpResponse` of the class success and returns any
// answer of a status function (classify.h). Without it, the poll is a success
// with the `HttpResponse` as its value.
//
// Blocks, but for no longer than `PollContext::timeout`, and returns
// immediately when a stop is requested. An engine should call it on an
// executor. Polls of one object share connections, also with TLS; objects do
// not.
//
// Thread-compatible. Movable, not copyable.
template <std::invocable<HttpResponse> Judge = internal::TakeResponse>
class HttpPoller {
 public:
  explicit HttpPoller(HttpRequest request, HttpOptions options = {})
      : HttpPoller(std::move(request), Judge(), std::move(options)) {}
  HttpPoller(HttpRequest request, Judge judge, HttpOptions options = {})
      : judge_(std::move(judge)),
        rules_({.classifier = std::move(options.classifier),
                .ready_on = std::move(options.ready_on),
                .succeed_if = std::move(options.succeed_if),
                .fail_if = std::move(options.fail_if)}),
        unreachable_(options.unreachable),
        client_(std::make_unique<internal::CurlClient>(
            std::move(request), options.max_body, options.max_redirects,
            std::move(options.configure))) {}

  // Makes one poll. Must not be called after this object was moved from.
  auto operator()(const PollContext& context)
      -> internal::PollFor<std::invoke_result_t<Judge&, HttpResponse>> {
    internal::HttpOutcome outcome = client_->Send(context);
    Poll<> found = internal::JudgeOutcome(
        outcome, {.http = rules_,
                  .unreachable = unreachable_,
                  .needs_body = !std::same_as<Judge, internal::TakeResponse>});
    if (found.status() != PollStatus::kSuccess || !outcome.has_response()) {
      return found;
    }
    const RetryAfter hint = outcome.response.retry_after;
    return internal::WithHint(
        internal::ToPoll(std::invoke(judge_, std::move(outcome.response))),
        hint);
  }

 private:
  Judge judge_;
  HttpRules rules_;
  PollStatus unreachable_;
  std::unique_ptr<internal::CurlClient> client_;
};

}  // namespace waiter

#endif  // __has_include(<curl/curl.h>)

#endif  // WAITER_INTEROP_HTTP_H_
