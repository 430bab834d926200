// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// Follows a long-running operation over HTTP, as far as that needs no libcurl:
// says which request comes next, and what each response means. Programs include
// interop/http.h. Sends nothing and reads no clock, so that other HTTP clients
// can use it:
//
//   waiter::HttpOperationTracker tracker({.request = {.url = url,
//                                                     .method = "PUT",
//                                                     .body = body}});
//   while (true) {
//     HttpResponse response = Send(tracker.Next());  // Follows no redirect.
//     waiter::HttpOperationStep step = tracker.Take(response, absl::Now());
//     if (step.again) continue;
//     if (tracker.has_ended()) return step.poll;
//     Sleep(step.poll.retry_after());
//   }

#ifndef WAITER_INTEROP_INTERNAL_HTTP_OPERATION_H_
#define WAITER_INTEROP_INTERNAL_HTTP_OPERATION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "waiter/interop/internal/http_judge.h"
#include "waiter/interop/internal/http_message.h"
#include "waiter/poll.h"

namespace waiter {

// How a server reports the state of an operation. Words for states count in any
// case. Words for failures, such as `failed`, `canceled`, `expired` and
// `error`, end the operation in every dialect; a word that is not known means
// that it runs.
//
// | dialect         | recognized by                  | success               |
// | --------------- | ------------------------------ | --------------------- |
// | `accepted`      | 202                            | 2xx but 202, or 303   |
// |                 |                                | to the result, unless |
// |                 |                                | the body says it runs |
// | `azure`         | `Operation-Location`,          | `Succeeded`; without  |
// |                 | `Azure-AsyncOperation`,        | a monitor also a 2xx  |
// |                 | `provisioningState`            | without a state       |
// | `google`        | `done`, `name` in `operations/`| `done`, `response`    |
// | `compute`       | `kind` is `...#operation`      | `DONE`, no `error`    |
// | `bigquery`      | `kind` is `...#job`            | `DONE`, no            |
// |                 |                                | `errorResult`         |
// | `kubernetes`    | `apiVersion` and `kind`        | the condition of the  |
// |                 |                                | kind: `Complete`,     |
// |                 |                                | `Ready`, `Succeeded`, |
// |                 |                                | all replicas ...      |
// | `openai`        | `object` is `batch` ...        | `completed`           |
// | `anthropic`     | `processing_status`            | `ended`, unless all   |
// |                 |                                | items have failed     |
// | `github`        | `conclusion`, `check_runs`,    | `completed`, and the  |
// |                 | `workflow_runs`                | conclusion `success`, |
// |                 |                                | `neutral`, `skipped`  |
// | `stripe`        | `livemode`, `Stripe-Version`   | `succeeded`, `paid`   |
// | `airflow`       | `dag_run_id`                   | `success`             |
// | `databricks`    | `life_cycle_state`             | `TERMINATED`, with    |
// |                 |                                | `SUCCESS`             |
// | `jenkins`       | `building` and `result`        | `SUCCESS`             |
// | `elasticsearch` | `completed` and `task`         | `completed`, without  |
// |                 |                                | failures              |
// | `redfish`       | `TaskState`                    | `Completed`           |
// | `state`         | a word in `status`, `state`,   | `succeeded`, `done`,  |
// |                 | `phase` ...                    | `completed` ...       |
struct HttpDialect {
  enum class Kind : uint8_t {
    kAuto,  // By the first answer that tells.
    kAccepted,
    kAzure,
    kGoogle,
    kCompute,
    kBigQuery,
    kKubernetes,
    kOpenAi,
    kAnthropic,
    kGitHub,
    kStripe,
    kAirflow,
    kDatabricks,
    kJenkins,
    kElasticsearch,
    kRedfish,
    kState,
  };

  Kind kind = Kind::kAuto;

  // kState: the members that lead to the state, separated by dots. An array on
  // the way means all of its elements, and the operation succeeds when there is
  // one and all have succeeded. Empty: `status`, `state` or `phase`.
  std::string path = {};

  // * kState: the word that means success, instead of the usual ones.
  // * kKubernetes: the condition that must be True.
  // * kGoogle: "wait" asks by `:wait`, so that the server can hold the request,
  //   until it turns out not to offer that.
  std::string word = {};

  // Reads a name of the table; `state:PATH` or `state:PATH=WORD`, where PATH
  // may also be as for jq, such as `.a[].b`; `kubernetes:CONDITION`; or
  // `google:wait`. For anything else, returns kInvalidArgument with the names.
  static absl::StatusOr<HttpDialect> Parse(std::string_view text);

  // Returns what `Parse` reads; "auto" for kAuto.
  std::string ToString() const;
};

struct HttpOperationPlan {
  // Starts the operation, unless it is a GET without a body: then `url` is the
  // status of one that runs, or the resource that is being changed.
  HttpRequest request = {};

  HttpDialect dialect = {};

  // `classifier` decides about statuses other than 2xx and 3xx, and any of
  // `fail_if` ends the operation as failed. `succeed_if`, unless it is empty,
  // replaces the dialect's rule for success. The other rules have no effect.
  HttpRules rules = {};

  // Further origins that get the headers of `request`, such as
  // "https://status.example.com". Otherwise an address that the server names
  // gets them only if it has the origin of `request`.
  std::vector<std::string> trusted_origins = {};
};

struct HttpOperationStep {
  // The answer of the poll; a success if the operation has succeeded and the
  // response is the result.
  Poll<> poll = PollStatus::kNotReady;

  // Whether the next request belongs to the same poll. At most
  // `kMaxRequestsPerPoll` of them do.
  bool again = false;
};

// Thread-compatible. Copies are independent.
//
// The request that starts the operation is sent once, unless that is safe:
//
// | the start                                   | the operation              |
// | ------------------------------------------- | -------------------------- |
// | is answered 2xx                             | runs; only GET follows     |
// | is answered 2xx, and mentions no            | has succeeded              |
// | operation                                   |                            |
// | is refused: 429, or 403 or 503 with a delay | is started again, later    |
// | reached no server                           | is started again, later    |
// | got another 5xx or no answer, and is a PUT  | is started again, later    |
// | or DELETE, or has an `Idempotency-Key`      |                            |
// | ... and is another one, such as a POST      | has failed: it may run, so |
// |                                             | that it is not repeated    |
// | is answered 4xx                             | has failed                 |
//
// `Stripe-Should-Retry` wins over these rows and over the status.
//
// Addresses that the server names may be relative. It is an error if one leads
// from https to http, or after more than ten redirects in a row. Another origin
// gets neither headers nor a user and password.
//
// 404 or 410 means that the operation expired if it was seen to run, and that a
// DELETE is complete if the resource itself was asked. For `kNotFoundGrace`
// after the start it means nothing.
class HttpOperationTracker {
 public:
  static constexpr int kMaxRequestsPerPoll = 12;
  static constexpr int kMaxRedirects = 10;
  static constexpr absl::Duration kNotFoundGrace = absl::Seconds(30);

  explicit HttpOperationTracker(HttpOperationPlan plan);

  // Returns a tracker that continues where another one was saved. Its `plan`
  // must be the same. Returns kInvalidArgument if `saved` is not such a state,
  // or names an address that `plan` does not allow.
  static absl::StatusOr<HttpOperationTracker> Restore(HttpOperationPlan plan,
                                                      std::string_view saved);

  // Returns the state as text in lines. It has the addresses, which may hold a
  // secret, but no headers and no body, and after the end its answer. A tracker
  // that is restored from the text saved after `Next` does not repeat a start
  // that must not be repeated.
  std::string Save() const;

  // Returns the next request, which must be sent without following redirects.
  // Must not be called after the end.
  HttpRequest Next();

  // Takes the response to the last `Next`, which came at `now`.
  HttpOperationStep Take(const HttpResponse& response, absl::Time now);

  // Takes the answer of a poll in which `Next` got no response. `was_sent` says
  // whether the server may have got the request.
  HttpOperationStep TakeFailure(Poll<> found, bool was_sent);

  // Whether the operation has succeeded or failed. `end` is then its answer.
  bool has_ended() const { return end_.has_value(); }
  const Poll<>& end() const { return *end_; }

  // The dialect, which is `kAuto` until it is known, and why it was taken, such
  // as "header Azure-AsyncOperation".
  const HttpDialect& dialect() const { return dialect_; }
  const std::string& reason() const { return reason_; }

  // Returns the request that asks the server to cancel the operation, or
  // nothing before it runs. In dialects with a method for that (`google`,
  // `openai`, `anthropic`, `github`), it is a POST to the method, otherwise a
  // DELETE of the status.
  std::optional<HttpRequest> CancelRequest() const;

 private:
  enum class Phase : uint8_t { kStart, kStatus, kResult };

  // Where the address of the status came from.
  enum class Source : uint8_t {
    kRequest,
    kMonitor,   // `Operation-Location` or `Azure-AsyncOperation`.
    kLocation,  // `Location`.
    kBody,
  };

  HttpOperationStep TakeStart(const HttpResponse& response, absl::Time now,
                              const HttpVerdict& verdict);
  HttpOperationStep TakeStarted(const HttpResponse& response,
                                const HttpVerdict& verdict);
  HttpOperationStep TakeStatus(const HttpResponse& response, absl::Time now,
                               const HttpVerdict& verdict);
  HttpOperationStep TakeMissing(const HttpResponse& response, absl::Time now,
                                const HttpVerdict& verdict);
  HttpOperationStep TakeConditions(const HttpResponse& response,
                                   absl::Time now);
  HttpOperationStep TakeState(const HttpResponse& response,
                              const HttpVerdict& verdict);
  HttpOperationStep TakeWithoutState(const HttpResponse& response,
                                     const HttpVerdict& verdict,
                                     std::string_view word);
  HttpOperationStep TakeResult(const HttpResponse& response,
                               const HttpVerdict& verdict);
  HttpOperationStep Redirect(const HttpResponse& response);
  HttpOperationStep Finish(const HttpResponse& response, std::string_view text);
  HttpOperationStep End(Poll<> answer);
  HttpOperationStep Fail(absl::Status error);

  void Recognize(const HttpResponse& response);
  absl::Status UseFields(const HttpResponse& response);
  absl::Status UseBody(const HttpResponse& response);
  absl::StatusOr<std::string> Resolve(std::string_view reference,
                                      std::string_view source) const;
  bool ListAgain();

  bool is_start_repeatable() const;
  bool asks_by_wait() const;
  std::string Explained(std::string_view text) const;
  HttpRequest Ask(const std::string& url) const;

  HttpOperationPlan plan_;
  HttpDialect dialect_;
  std::string reason_;
  std::optional<Poll<>> end_;

  Phase phase_ = Phase::kStart;
  bool was_sent_ = false;     // The start may have reached the server.
  bool has_run_ = false;      // A status was read.
  bool has_word_ = false;     // A status had a word for the state.
  bool may_be_done_ = false;  // A 2xx without a word is success.
  bool offers_wait_ = true;
  Source source_ = Source::kRequest;
  std::string method_;      // For the start; a redirect may change it.
  std::string url_;         // For the start or the status.
  std::string result_url_;  // For the result; empty if none.
  std::string hop_url_;     // For the next request only; mostly empty.
  int redirects_ = 0;       // In a row.
  absl::Time started_ = absl::InfinitePast();
};

}  // namespace waiter

#endif  // WAITER_INTEROP_INTERNAL_HTTP_OPERATION_H_
