// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

// A process of the chaos test. It polls the API with many waits, which share a
// rate and a retry quota with other processes. It ends at SIGTERM.

#ifdef WAITER_HAS_HIREDIS

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "tests/redis/chaos/api_protocol.h"
#include "tests/redis/chaos/history.h"
#include "tests/redis/chaos/worker_process.h"
#include "waiter/engine/batch_poller.h"
#include "waiter/engine/engine.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/redis/client.h"
#include "waiter/redis/shared_budgets.h"
#include "waiter/result.h"
#include "waiter/waiter.h"

ABSL_FLAG(int, worker, 0, "Number of this process.");
ABSL_FLAG(int, api, 0, "Port of the API.");
ABSL_FLAG(int, redis, 0, "Port of Redis.");
ABSL_FLAG(int, waits, 100, "Waits that are pending at a time.");
ABSL_FLAG(bool, batch, false, "Whether a call polls up to four waits.");
ABSL_FLAG(double, rate, 0, "Polls per second of all processes.");
ABSL_FLAG(double, burst, 1, "Burst of the rate.");
ABSL_FLAG(double, local_share, 1, "Share if the store was never reached.");
ABSL_FLAG(double, capacity, 0, "Tokens of all processes.");
ABSL_FLAG(double, refill, 0, "Tokens per second that come back.");

namespace waiter::chaos {
namespace {

// Blocks during a call, so at most one is between the limiter and the API.
class Api {
 public:
  std::string Ask(const SharedRateLimiter& limiter,
                  absl::Span<const int64_t> waits) {
    const SharedRateLimiterState state = limiter.State();
    Call call = {.members = state.members,
                 .waits = static_cast<int32_t>(waits.size())};
    switch (state.mode) {
      case SharedBudgetMode::kStarting:
        call.claim = Claim::kStarting;
        break;
      case SharedBudgetMode::kShared:
        call.claim = Claim::kShared;
        break;
      case SharedBudgetMode::kLocal:
        call.claim = state.last_sync_age.has_value() ? Claim::kLocal
                                                     : Claim::kNeverReached;
        break;
    }
    // While alone, a member may divide the rate by more than `state.members`.
    if (call.claim == Claim::kLocal && state.rate.has_value()) {
      call.members = std::llround(absl::GetFlag(FLAGS_rate) / *state.rate);
    }
    std::string message(reinterpret_cast<const char*>(&call), sizeof(call));
    message.append(reinterpret_cast<const char*>(waits.data()),
                   waits.size() * sizeof(int64_t));
    connection_.Send(message);
    std::string answers(waits.size(), '\0');
    connection_.Receive(answers.data(), answers.size());
    return answers;
  }

 private:
  ApiConnection connection_{absl::GetFlag(FLAGS_api),
                            absl::GetFlag(FLAGS_worker)};
};

PollStatus ToStatus(char answer) {
  switch (static_cast<Answer>(answer)) {
    case Answer::kSuccess:
      return PollStatus::kSuccess;
    case Answer::kError:
      return PollStatus::kServerError;
    case Answer::kNotReady:
      break;
  }
  return PollStatus::kNotReady;
}

WaitOptions MakeOptions(std::shared_ptr<RetryQuota> quota) {
  WaitOptions options;
  options.timeout = absl::InfiniteDuration();
  options.backoff = {.initial_delay = absl::Milliseconds(20),
                     .max_delay = absl::Milliseconds(200)};
  options.errors.server_error_backoff = {
      .initial_delay = absl::Milliseconds(20),
      .max_delay = absl::Milliseconds(200)};
  options.budgets.retry_quota = std::move(quota);
  options.budgets.delay_when_refused = true;
  return options;
}

// Both classes keep a number of waits pending: when one ends, another starts.

class SingleWaits {
 public:
  SingleWaits(WaitEngine& engine, Api& api,
              std::shared_ptr<SharedRateLimiter> limiter,
              std::shared_ptr<RetryQuota> quota)
      : engine_(engine), api_(api), limiter_(std::move(limiter)) {
    WaitOptions options = MakeOptions(std::move(quota));
    options.budgets.rate_limiter = limiter_;
    policy_ = WaitPolicy::Make(std::move(options));
  }

  void Start(int64_t wait) {
    Waiter waiter(
        [this, wait] { return ToStatus(api_.Ask(*limiter_, {wait})[0]); },
        policy_);
    engine_
        .Start(std::move(waiter),
               [this](const WaitResult<>& result) {
                 if (result.report().reason != StopReason::kShutDown) {
                   Start(next_++);
                 }
               })
        .Detach();
  }

 private:
  WaitEngine& engine_;
  Api& api_;
  const std::shared_ptr<SharedRateLimiter> limiter_;
  std::shared_ptr<const WaitPolicy> policy_;
  int64_t next_ = 1'000'000;  // Used only by the engine's thread.
};

class BatchedWaits {
 public:
  BatchedWaits(WaitEngine& engine, Api& api,
               std::shared_ptr<SharedRateLimiter> limiter,
               std::shared_ptr<RetryQuota> quota)
      : policy_(WaitPolicy::Make(MakeOptions(std::move(quota)))),
        poller_(engine,
                [&api, limiter](absl::Span<const int64_t> waits)
                    -> absl::StatusOr<BatchAnswer<int64_t>> {
                  const std::string answers = api.Ask(*limiter, waits);
                  BatchAnswer<int64_t> answer;
                  for (size_t i = 0; i < waits.size(); ++i) {
                    answer.emplace(waits[i], ToStatus(answers[i]));
                  }
                  return answer;
                },
                {.max_batch = 4,
                 .window = absl::Milliseconds(20),
                 .rate_limiter = limiter}) {}

  void Start(int64_t wait) {
    poller_
        .Start(wait, policy_,
               [this](const WaitResult<>& result) {
                 if (result.report().reason != StopReason::kShutDown &&
                     result.report().reason != StopReason::kFailed) {
                   Start(next_++);
                 }
               })
        .Detach();
  }

 private:
  const std::shared_ptr<const WaitPolicy> policy_;
  BatchPoller<int64_t> poller_;
  int64_t next_ = 1'000'000;
};

template <typename Waits>
void RunUntilTermination(Api& api, std::shared_ptr<SharedRateLimiter> limiter,
                         const std::shared_ptr<SharedRetryQuota>& quota) {
  auto engine = std::make_unique<WaitEngine>();
  Waits waits(*engine, api, std::move(limiter), quota->quota());
  for (int64_t i = 0; i < absl::GetFlag(FLAGS_waits); ++i) waits.Start(i);
  AwaitTermination();
  engine = nullptr;
}

int Main() {
  Api api;
  const auto client = RedisClient::Make(
      "redis://127.0.0.1:" + std::to_string(absl::GetFlag(FLAGS_redis)));
  if (!client.ok()) return 2;
  const auto store = std::make_shared<RedisBudgetStore>(*client);
  auto limiter = SharedRateLimiter::Make(
      store, {.name = "api",
              .rate = absl::GetFlag(FLAGS_rate),
              .burst = absl::GetFlag(FLAGS_burst),
              .local_share = absl::GetFlag(FLAGS_local_share)});
  auto quota = SharedRetryQuota::Make(
      store, {.name = "api",
              .quota = {.capacity = absl::GetFlag(FLAGS_capacity),
                        .refill_per_second = absl::GetFlag(FLAGS_refill)}});
  if (!limiter.ok() || !quota.ok()) return 2;
  if (absl::GetFlag(FLAGS_batch)) {
    RunUntilTermination<BatchedWaits>(api, *limiter, *quota);
  } else {
    RunUntilTermination<SingleWaits>(api, *limiter, *quota);
  }
  return 0;
}

}  // namespace
}  // namespace waiter::chaos

int main(int argc, char** argv) {
  waiter::chaos::BeginWorker();
  absl::ParseCommandLine(argc, argv);
  return waiter::chaos::Main();
}

#else

int main() { return 2; }

#endif  // WAITER_HAS_HIREDIS
