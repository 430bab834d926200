// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Polls over HTTP with libcurl. Until a server is ready:
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
// | gets a partial or non-HTTP answer      | server error, kUnavailable       |
// | is redirected too often                | failed, kFailedPrecondition      |
// | gets too long an answer                | failed, kOutOfRange              |
// | cannot be made: a bad URL, for example | failed, kInvalidArgument         |
// | runs when a stop is requested          | not ready; the wait ends         |
//
// A job that may fail needs no function: the conditions of `HttpOptions` read
// its JSON, and the message includes the server's reason.
//
//   waiter::HttpPoller({.url = "https://example.com/jobs/7"},
//                      {.succeed_if = {waiter::JsonIs("state", "DONE")},
//                       .fail_if = {waiter::JsonIs("state", "FAILED")}})
//
// If a request starts a job whose status is at another address, use an
// `HttpOperation`, which detects the server's convention:
//
//   waiter::HttpOperation create({.url = "https://example.com/v1/exports",
//                                 .headers = {{"Authorization", token}},
//                                 .body = R"({"table": "orders"})"});
//   waiter::Waiter wait(
//       [&](const waiter::PollContext& poll) { return create(poll); },
//       {.timeout = absl::Hours(1),
//        .poll_timeout = absl::Seconds(30),
//        .hooks = {.on_failure = [&](const waiter::WaitFailure& end) {
//          create.Cancel(end.timeout).IgnoreError();
//        }}});
//   waiter::WaitResult<waiter::HttpResponse> exported = wait.Wait(stop_token);
//
// "Server error" means the class that the classifier gives an error of type
// `kConnection`. An answer after which the wait continues has the `retry_after`
// of the response.
//
// libcurl is not a dependency of Waiter: a program that uses `HttpPoller` or
// `HttpOperation` must link it (`-lcurl`), version 7.68 (2020) or newer.
// Without its headers, both classes are missing. Everything else remains, for
// your own clients: `HttpRequest` and `HttpResponse` (internal/http_message.h),
// the meaning of a response (`JudgeHttp` in internal/http_judge.h), and cheap
// polls (`HttpMemory` in internal/http_memory.h). If your event loop drives
// libcurl, derive its transfers from `CurlRequest` (internal/curl_request.h).

#ifndef WAITER_INTEROP_HTTP_H_
#define WAITER_INTEROP_HTTP_H_

#include "waiter/interop/internal/http_judge.h"      // IWYU pragma: export
#include "waiter/interop/internal/http_memory.h"     // IWYU pragma: export
#include "waiter/interop/internal/http_message.h"    // IWYU pragma: export
#include "waiter/interop/internal/http_operation.h"  // IWYU pragma: export
#include "waiter/interop/internal/long_poll.h"       // IWYU pragma: export

#if __has_include(<curl/curl.h>)

#include <curl/curl.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "waiter/classify.h"
#include "waiter/clock.h"
#include "waiter/interop/internal/curl_client.h"
#include "waiter/interop/internal/curl_request.h"  // IWYU pragma: export
#include "waiter/interop/internal/http_answer.h"
#include "waiter/interop/internal/http_share.h"  // IWYU pragma: export
#include "waiter/interop/internal/http_watch.h"  // IWYU pragma: export
#include "waiter/interop/internal/operation_client.h"
#include "waiter/interop/internal/to_poll.h"
#include "waiter/poll.h"

namespace waiter {

struct HttpOptions {
  // Class of each status. Every response whose class is success goes to the
  // function.
  ErrorClassifier classifier = ErrorClassifier::Http();

  // Conditions on the response, by the table of `HttpRules`. If any of
  // `fail_if` holds, the wait fails, for any status. All of `succeed_if` must
  // hold before a response of the class success goes to the function. Unless
  // `ready_on` is empty, exactly its statuses have this class.
  std::vector<HttpCondition> succeed_if = {};
  std::vector<HttpCondition> fail_if = {};
  HttpStatusSet ready_on = {};

  // Answer if no server is reached. kServerError suits a server that should be
  // running, and kFailed a host that may be misspelled.
  PollStatus unreachable = PollStatus::kNotReady;

  // Maximum size of a body, in bytes. The rest of a larger body is not read:
  // with a function, the poll is then failed; without one, the body is cut.
  size_t max_body = 1 << 20;

  // Number of redirects that a GET or HEAD without a body follows, to http and
  // https only. For all other requests, and with zero for every request, the
  // redirect itself is the response.
  int max_redirects = 10;

  // Asks the server to hold each request until there is news, and polls again
  // immediately as long as it does; `LongPolls` (internal/long_poll.h) lists
  // the rules. Set the wait's `poll_timeout` to more than the hold; otherwise
  // requests ask for a shorter hold.
  HttpLongPoll long_poll = {};

  // Shares requests with other pollers that have the same share; null: no
  // sharing. Ignored if `configure` is set.
  std::shared_ptr<HttpShare> share = nullptr;

  // Called once, before the first poll, for further options of libcurl: trust,
  // proxies, authentication. Must not set the callbacks for header and body.
  std::function<void(CURL*)> configure = nullptr;
};

// A status function that makes one request per poll. If a GET was answered with
// an `ETag` or a `Last-Modified`, the next poll asks only for a newer answer,
// and after a 304 the earlier response is judged again. A `Cache-Control` field
// in the request turns this off.
//
// `Judge` is called with an `HttpResponse` of the class success and returns any
// answer of a status function (classify.h). Without it, the poll is a success
// with the `HttpResponse` as its value.
//
// Blocks, but for no longer than `PollContext::timeout`, and returns
// immediately when a stop is requested. An engine should call it on an
// executor. Polls of one object share connections, even with TLS; different
// objects do not.
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
        unreachable_(options.unreachable) {
    const bool shares =
        options.share != nullptr && options.configure == nullptr;
    internal::CurlOptions client = {.max_body = options.max_body,
                                    .max_redirects = options.max_redirects,
                                    .long_poll = std::move(options.long_poll),
                                    .configure = std::move(options.configure)};
    if (shares) {
      shared_client_ = options.share->ClientOf(request, client);
    } else {
      client_ = std::make_unique<internal::CurlClient>(std::move(request),
                                                       std::move(client));
    }
  }

  // Makes one poll. Must not be called after this object was moved from.
  auto operator()(const PollContext& context)
      -> internal::PollFor<std::invoke_result_t<Judge&, HttpResponse>> {
    internal::HttpOutcome outcome = shared_client_ == nullptr
                                        ? client_->Send(context)
                                        : shared_client_->Send(context, seen_);
    Poll<> found = internal::JudgeOutcome(
        outcome, {.http = rules_,
                  .unreachable = unreachable_,
                  .needs_body = !std::same_as<Judge, internal::TakeResponse>});
    if (found.status() != PollStatus::kSuccess || !outcome.has_response()) {
      return found;
    }
    const internal::NextPoll next = {
        .retry_after = outcome.response.retry_after,
        .is_immediate = outcome.was_held};
    return internal::WithNextPoll(
        internal::ToPoll(std::invoke(judge_, std::move(outcome.response))),
        next);
  }

 private:
  Judge judge_;
  HttpRules rules_;
  PollStatus unreachable_;
  // Exactly one of these is set.
  std::unique_ptr<internal::CurlClient> client_;
  std::shared_ptr<internal::SharedCurlClient> shared_client_;
  uint64_t seen_ = 0;  // The last answer taken from the shared client.
};

struct HttpOperationOptions {
  // How the server reports the state; by default detected from its answers.
  HttpDialect dialect = {};

  // As in `HttpOptions`. If `succeed_if` is not empty, it decides on answers
  // about the status, instead of the dialect.
  ErrorClassifier classifier = ErrorClassifier::Http();
  std::vector<HttpCondition> succeed_if = {};
  std::vector<HttpCondition> fail_if = {};
  PollStatus unreachable = PollStatus::kNotReady;
  size_t max_body = 1 << 20;
  HttpLongPoll long_poll = {};  // For requests that ask for the status.

  // Called before the first request to each address.
  std::function<void(CURL*)> configure = nullptr;

  // Further origins that get the headers of the request, such as
  // "https://status.example.com".
  std::vector<std::string> trusted_origins = {};

  // The request that `Cancel` sends; unset: the dialect's, as
  // `HttpOperationTracker::CancelRequest` says.
  std::optional<HttpRequest> cancel = std::nullopt;

  // Called with the result of `Save` before the start request is sent, and
  // after each poll that changed the result. A process that keeps the latest
  // text can continue with `Restore`, and never starts an operation twice.
  std::function<void(const std::string& saved)> keep = nullptr;
};

// A status function that starts a long-running operation, or adopts one that
// runs, and follows it to its result by the rules of `HttpOperationTracker`
// (internal/http_operation.h lists them). The value of a success is the last
// response: the result, or the status if the server names no result. An error
// contains the server's code and message, and details name the dialect and the
// reason for it: "InProgress (azure: header Azure-AsyncOperation)".
//
// A request with a method other than GET, or with a body, starts the operation
// in the first poll; a GET adopts the operation at its address. Some polls make
// several requests, to follow a redirect or get a result. After the end, polls
// return the same answer and send nothing.
//
// Blocks as an `HttpPoller` does. A `Waiter` calls it as in the example above.
// An engine calls it on its executor; an `AsyncWaiter` passes it to a thread:
//
//   [&](const waiter::PollContext& poll, PollCompletion<HttpResponse> done) {
//     pool.Run([&, poll, done] { done(operation(poll)); });
//   }
//
// A durable wait keeps the text of `Save` as its `args` once the operation
// runs, and continues from it in each poll, on any worker:
//
//   [&](const waiter::DurablePoll& poll) -> waiter::Poll<std::string> {
//     auto operation = waiter::HttpOperation::Restore(request, poll.args);
//     if (!operation.ok()) return waiter::Failed(operation.status());
//     waiter::Poll<waiter::HttpResponse> found = (*operation)(poll.context);
//     if (!found.has_value()) return waiter::Poll<>(std::move(found));
//     return waiter::Success(std::move(found).value().body);
//   }
//
// Thread-compatible. Movable, not copyable.
class HttpOperation {
 public:
  explicit HttpOperation(HttpRequest request, HttpOperationOptions options = {})
      : HttpOperation(HttpOperationTracker(PlanOf(std::move(request), options)),
                      std::move(options)) {}

  // Returns an operation that continues from a result of `Save`. Request and
  // options must be the saved operation's. If the operation had ended, polls
  // return its answer; a success has an empty response. Returns
  // kInvalidArgument if `saved` is damaged.
  static absl::StatusOr<HttpOperation> Restore(
      HttpRequest request, std::string_view saved,
      HttpOperationOptions options = {}) {
    absl::StatusOr<HttpOperationTracker> tracker =
        HttpOperationTracker::Restore(PlanOf(std::move(request), options),
                                      saved);
    if (!tracker.ok()) return tracker.status();
    return HttpOperation(*std::move(tracker), std::move(options));
  }

  // Makes one poll. Must not be called after this object was moved from.
  Poll<HttpResponse> operator()(const PollContext& context) {
    const MonotonicTime begin = GetRealClock().MonotonicNow();
    for (int i = 0; i < HttpOperationTracker::kMaxRequestsPerPoll; ++i) {
      if (tracker_.has_ended()) return End();
      if (context.stop_token.stop_requested()) return Stopped();
      PollContext rest = context;
      rest.timeout -= absl::FromChrono(GetRealClock().MonotonicNow() - begin);
      const HttpRequest request = tracker_.Next();
      Keep();
      internal::HttpOutcome outcome = client_.Send(request, rest);
      const bool was_stopped =
          outcome.failure == internal::HttpOutcome::Failure::kStopped;
      const bool was_held = outcome.was_held;
      const HttpOperationStep step = Take(std::move(outcome));
      Keep();
      // The wait ends as cancelled. Later polls answer that the start may have
      // been carried out.
      if (was_stopped) return Stopped();
      if (!step.again && !tracker_.has_ended()) {
        if (step.poll.status() != PollStatus::kNotReady) return step.poll;
        return internal::WithNextPoll(
            step.poll, {.retry_after = {}, .is_immediate = was_held});
      }
    }
    if (tracker_.has_ended()) return End();
    return NotReady("the server names one address after another");
  }

  // Returns the state as text, for `Restore`. The text may contain secrets that
  // are parts of addresses, but no headers or bodies.
  std::string Save() const { return tracker_.Save(); }

  // Asks the server to cancel the operation, within `timeout`. Blocks. Returns
  // kFailedPrecondition if the operation has not started or has ended, and an
  // error if the server answers neither 2xx nor 404 (nothing runs).
  absl::Status Cancel(absl::Duration timeout) {
    std::optional<HttpRequest> request = tracker_.CancelRequest();
    if (!request.has_value() || tracker_.has_ended()) {
      return absl::FailedPreconditionError("no operation runs");
    }
    if (cancel_.has_value()) request = cancel_;
    return client_.SendCancel(*std::move(request), timeout);
  }

  const HttpOperationTracker& tracker() const { return tracker_; }

 private:
  // `options` is a reference, so that it can also make the tracker.
  HttpOperation(HttpOperationTracker tracker, HttpOperationOptions&& options)
      : tracker_(std::move(tracker)),
        unreachable_(options.unreachable),
        cancel_(std::move(options.cancel)),
        keep_(std::move(options.keep)),
        client_(options.max_body, std::move(options.long_poll),
                std::move(options.configure)),
        kept_(Save()) {}

  static HttpOperationPlan PlanOf(HttpRequest request,
                                  const HttpOperationOptions& options) {
    return {.request = std::move(request),
            .dialect = options.dialect,
            .rules = {.classifier = options.classifier,
                      .succeed_if = options.succeed_if,
                      .fail_if = options.fail_if},
            .trusted_origins = options.trusted_origins};
  }

  HttpOperationStep Take(internal::HttpOutcome outcome) {
    if (outcome.has_response()) {
      HttpOperationStep step =
          tracker_.Take(outcome.response, outcome.received);
      if (tracker_.has_ended()) last_ = std::move(outcome.response);
      return step;
    }
    using Failure = internal::HttpOutcome::Failure;
    const HttpRules rules;
    const bool was_sent = outcome.failure != Failure::kUnreachable &&
                          outcome.failure != Failure::kImpossible;
    Poll<> found = internal::JudgeOutcome(
        outcome,
        {.http = rules, .unreachable = unreachable_, .needs_body = false});
    return tracker_.TakeFailure(std::move(found), was_sent);
  }

  static Poll<HttpResponse> Stopped() {
    return NotReady(absl::CancelledError("cut short by a stop"));
  }

  Poll<HttpResponse> End() const {
    const Poll<>& end = tracker_.end();
    if (end.status() != PollStatus::kSuccess) return end;
    return Success(last_, end.detail());
  }

  void Keep() {
    if (keep_ == nullptr) return;
    std::string saved = Save();
    if (saved == kept_) return;
    keep_(saved);
    kept_ = std::move(saved);
  }

  HttpOperationTracker tracker_;
  PollStatus unreachable_;
  std::optional<HttpRequest> cancel_;
  std::function<void(const std::string&)> keep_;
  internal::OperationClient client_;
  HttpResponse last_;  // The answer that ended the operation.
  std::string kept_;
};

}  // namespace waiter

#endif  // __has_include(<curl/curl.h>)

#endif  // WAITER_INTEROP_HTTP_H_
