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
        judge_(std::move(judge)) {}

  void Start(const PollContext& /*context*/, Done done) override {
    done_ = std::move(done);
    transfer_ =
        client_.Start(destination_, options_, [this](const HttpAnswer& answer) {
          const absl::Time now = GetRealClock().TimeNow();
          End(judge_ == nullptr ? JudgeHttp(*options_, answer, now)
                                : judge_(answer, now));
        });
  }

  void TimeOut(absl::Duration timeout) override {
    if (transfer_ == nullptr) return;
    End(JudgeHttpTimeout(transfer_->Answer(), timeout));
  }

  void Cancel() override {
    transfer_ = nullptr;
    done_ = nullptr;
  }

 private:
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
  Done done_;
  std::unique_ptr<HttpTransfer> transfer_;  // Null if no poll is under way.
};

}  // namespace

absl::StatusOr<std::unique_ptr<Probe>> MakeHttpProbe(
    HttpClient& client, HttpDestination destination,
    std::shared_ptr<const HttpOptions> options, HttpJudge judge) {
  if (absl::Status status = client.Check(destination); !status.ok()) {
    return status;
  }
  return std::make_unique<HttpProbe>(client, std::move(destination),
                                     std::move(options), std::move(judge));
}

}  // namespace waiter::cli
