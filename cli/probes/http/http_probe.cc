// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/probes/http/http_probe.h"

#include <memory>
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

class HttpProbe final : public Probe {
 public:
  HttpProbe(HttpClient& client, HttpDestination destination,
            std::shared_ptr<const HttpOptions> options, HttpJudge judge)
      : client_(client),
        destination_(std::move(destination)),
        options_(std::move(options)),
        judge_(std::move(judge)),
        remembers_(judge_ == nullptr &&
                   HttpMemory::Suits(options_->method,
                                     options_->data.has_value(),
                                     options_->headers)),
        long_polls_(options_->long_poll) {}

  void Start(const PollContext& context, Done done) override {
    done_ = std::move(done);
    long_polls_.Begin(context.timeout, GetRealClock().MonotonicNow());
    HttpDestination destination = destination_;
    destination.url = long_polls_.Url(destination_.url);
    destination.own_headers = memory_.Conditions();
    for (auto& field : long_polls_.Fields()) {
      destination.own_headers.push_back(std::move(field));
    }
    transfer_ = client_.Start(destination, options_, [this](HttpAnswer answer) {
      Take(std::move(answer));
    });
  }

  void TimeOut(absl::Duration timeout) override {
    if (transfer_ == nullptr) return;
    long_polls_.End(/*status=*/0, GetRealClock().MonotonicNow());
    End(JudgeHttpTimeout(*options_, transfer_->Answer(), timeout,
                         GetRealClock().TimeNow()));
  }

  void Cancel() override {
    transfer_ = nullptr;
    done_ = nullptr;
  }

 private:
  void Take(HttpAnswer answer) {
    const absl::Time now = GetRealClock().TimeNow();
    const bool is_answer = answer.error == HttpAnswer::Error::kNone;
    const bool was_held = long_polls_.End(is_answer ? answer.status : 0,
                                          GetRealClock().MonotonicNow());
    if (remembers_ && !answer.is_redirected && is_answer) {
      memory_.Apply(answer);
    }
    Finding finding = judge_ == nullptr ? JudgeHttp(*options_, answer, now)
                                        : judge_(answer, now);
    finding.was_held = was_held;
    End(std::move(finding));
  }

  // `done_` may start the next poll, or destroy this.
  void End(Finding finding) {
    transfer_ = nullptr;
    const Done done = std::exchange(done_, nullptr);
    done(std::move(finding));
  }

  HttpClient& client_;
  const HttpDestination destination_;
  const std::shared_ptr<const HttpOptions> options_;
  const HttpJudge judge_;  // Null: `JudgeHttp`.
  const bool remembers_;
  HttpMemory memory_;
  LongPolls long_polls_;
  Done done_;
  std::unique_ptr<HttpTransfer> transfer_;  // Null if no poll is in progress.
};

}  // namespace

absl::StatusOr<std::unique_ptr<Probe>> MakeHttpProbe(
    HttpClient& client, HttpDestination destination,
    std::shared_ptr<const HttpOptions> options, HttpJudge judge) {
  if (absl::Status status = client.Check(destination, *options); !status.ok()) {
    return status;
  }
  return std::make_unique<HttpProbe>(client, std::move(destination),
                                     std::move(options), std::move(judge));
}

}  // namespace waiter::cli
