// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/http/operation_probe.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/probes/http/http_answer.h"
#include "cli/probes/http/http_client.h"
#include "cli/probes/http/http_options.h"
#include "cli/probes/http/http_verdict.h"
#include "cli/probes/probe.h"
#include "waiter/clock.h"
#include "waiter/interop/http.h"
#include "waiter/poll.h"

namespace waiter::cli {
namespace {

// Returns whether the server may have got the request.
bool MayBeSent(const HttpAnswer& answer) {
  using Error = HttpAnswer::Error;
  switch (answer.error) {
    case Error::kNameNotFound:
    case Error::kNotConnected:
    case Error::kCertificate:
    case Error::kTls:
    case Error::kOptions:
      return false;
    default:
      return answer.stage >= HttpStage::kWaiting;
  }
}

HttpOperationPlan PlanOf(const HttpDestination& destination,
                         const HttpOptions& options,
                         OperationOptions operation) {
  return {.request = {.url = destination.url,
                      .method = options.method,
                      .headers = options.headers,
                      .body = options.data},
          .dialect = std::move(operation.dialect),
          .rules = ConditionsOf(options),
          .trusted_origins = std::move(operation.trusted_origins)};
}

class OperationProbe final : public Probe {
 public:
  OperationProbe(HttpClient& client, std::shared_ptr<const HttpOptions> options,
                 HttpOperationPlan plan)
      : client_(client),
        options_(std::move(options)),
        tracker_(std::move(plan)),
        long_polls_(options_->long_poll) {}

  void Start(const PollContext& context, Done done) override {
    done_ = std::move(done);
    timeout_ = context.timeout;
    requests_ = 0;
    if (tracker_.has_ended()) return End(last_);
    Send();
  }

  void TimeOut(absl::Duration timeout) override {
    if (transfer_ == nullptr) return;
    const HttpAnswer answer = transfer_->Answer();
    transfer_ = nullptr;
    long_polls_.End(/*status=*/0, GetRealClock().MonotonicNow());
    // The lines of a body say nothing about an operation.
    TakeFailure(JudgeHttpTimeout(HttpOptions(), answer, timeout,
                                 GetRealClock().TimeNow()),
                MayBeSent(answer));
  }

  void Cancel() override {
    transfer_ = nullptr;
    done_ = nullptr;
  }

 private:
  void Send() {
    ++requests_;
    const HttpRequest request = tracker_.Next();
    HttpDestination destination = {.url = request.url};
    if (absl::Status status = client_.Check(destination, *options_);
        !status.ok()) {
      return TakeFailure({.status = PollStatus::kFailed,
                          .detail = std::string(status.message())},
                         /*was_sent=*/false);
    }
    if (request.url != url_) memory_ = HttpMemory();
    url_ = request.url;
    remembers_ = HttpMemory::Suits(request.method, request.body.has_value(),
                                   request.headers);
    // Only a request that may be repeated may be held.
    long_polls_.Begin(remembers_ ? timeout_ : absl::ZeroDuration(),
                      GetRealClock().MonotonicNow());
    destination.url = long_polls_.Url(request.url);
    if (remembers_) destination.own_headers = memory_.Conditions();
    for (auto& field : long_polls_.Fields()) {
      destination.own_headers.push_back(std::move(field));
    }
    auto options = std::make_shared<HttpOptions>(*options_);
    options->method = request.method;
    options->headers = request.headers;
    options->data = request.body;
    options->follow_redirects = false;
    transfer_ =
        client_.Start(destination, std::move(options),
                      [this](HttpAnswer answer) { Take(std::move(answer)); });
  }

  void Take(HttpAnswer answer) {
    transfer_ = nullptr;
    const absl::Time now = GetRealClock().TimeNow();
    if (answer.error != HttpAnswer::Error::kNone) {
      long_polls_.End(/*status=*/0, GetRealClock().MonotonicNow());
      return TakeFailure(JudgeHttp(*options_, answer, now), MayBeSent(answer));
    }
    const bool was_held =
        long_polls_.End(answer.status, GetRealClock().MonotonicNow());
    if (remembers_) memory_.Apply(answer);
    const HttpOperationStep step = tracker_.Take(answer, now);
    if (step.again && requests_ < HttpOperationTracker::kMaxRequestsPerPoll) {
      return Send();
    }
    Finding finding = FindingOf(step, answer, now);
    finding.was_held = was_held;
    End(std::move(finding));
  }

  Finding FindingOf(const HttpOperationStep& step, const HttpAnswer& answer,
                    absl::Time now) {
    Finding finding = {.status = step.poll.status(),
                       .detail = std::string(step.poll.detail()),
                       .retry_after = step.poll.retry_after()};
    if (finding.retry_after > absl::ZeroDuration()) {
      finding.retry_after_source =
          waiter::JudgeHttp({}, answer, now).retry_after_source;
    }
    if (finding.status == PollStatus::kSuccess) {
      PrintInto(*options_, answer, finding);
    }
    if (tracker_.has_ended()) last_ = finding;
    return finding;
  }

  void TakeFailure(Finding finding, bool was_sent) {
    const HttpOperationStep step = tracker_.TakeFailure(
        {finding.status, finding.detail, Duration(finding.retry_after)},
        was_sent);
    finding.status = step.poll.status();
    finding.detail = step.poll.detail();
    if (tracker_.has_ended()) last_ = finding;
    End(std::move(finding));
  }

  // `done_` may start the next poll, or destroy this.
  void End(Finding finding) {
    const Done done = std::exchange(done_, nullptr);
    done(std::move(finding));
  }

  HttpClient& client_;
  // `tracker_` refers to it.
  const std::shared_ptr<const HttpOptions> options_;
  HttpOperationTracker tracker_;
  Finding last_;  // Finding of the end.
  HttpMemory memory_;
  std::string url_;         // To which `memory_` belongs.
  bool remembers_ = false;  // The request in progress.
  int requests_ = 0;        // For the poll in progress.
  absl::Duration timeout_;  // Likewise.
  LongPolls long_polls_;
  Done done_;
  std::unique_ptr<HttpTransfer> transfer_;  // Null without a request.
};

}  // namespace

bool StartsOperation(const HttpOptions& options) {
  return options.data.has_value() ||
         (!options.method.empty() && options.method != "GET");
}

absl::StatusOr<std::unique_ptr<Probe>> MakeOperationProbe(
    HttpClient& client, const HttpDestination& destination,
    std::shared_ptr<const HttpOptions> options, OperationOptions operation) {
  if (absl::Status status = client.Check(destination, *options); !status.ok()) {
    return status;
  }
  HttpOperationPlan plan = PlanOf(destination, *options, std::move(operation));
  return std::make_unique<OperationProbe>(client, std::move(options),
                                          std::move(plan));
}

}  // namespace waiter::cli
