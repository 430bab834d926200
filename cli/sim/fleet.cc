// Copyright 2026 The Waiter Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cli/sim/fleet.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/random/random.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/sim/duration_distribution.h"
#include "cli/sim/event_queue.h"
#include "cli/sim/network.h"
#include "cli/sim/quantile.h"
#include "waiter/backoff.h"
#include "waiter/budgets.h"
#include "waiter/clock.h"
#include "waiter/loop.h"
#include "waiter/options.h"
#include "waiter/policy.h"
#include "waiter/poll.h"
#include "waiter/result.h"

namespace waiter::sim {
namespace {

using std::chrono::nanoseconds;

constexpr int kMaxClients = 100'000;

bool Never() { return false; }

// The server. Its polls must come in the order of time.
class Server {
 public:
  explicit Server(const ServerLimit& limit)
      : bucket_(limit.polls_per_second, std::max(1.0, limit.polls_per_second)),
        throttled_(Throttled("", limit.retry_after)) {}

  Poll<> Answer(nanoseconds now, bool ready) {
    if (!bucket_.Take(now)) return throttled_;
    return ready ? PollStatus::kSuccess : PollStatus::kNotReady;
  }

 private:
  TokenBucket bucket_;
  Poll<> throttled_;
};

// One wait and the time at which its operation is ready.
class Client {
 public:
  Client(std::shared_ptr<const WaitPolicy> policy, SplitMix64 gen,
         nanoseconds start, nanoseconds ready)
      : policy_(std::move(policy)),
        gen_(gen),
        start_(start),
        ready_(ready),
        loop_(*policy_, report_) {}

  // Returns when the first poll begins, or nullopt if the wait ends without.
  std::optional<nanoseconds> Start() {
    const MonotonicTime now(start_);
    return NextPoll(loop_.Start(now, policy_->DeadlineFrom(now), Never), now);
  }

  // Feeds `found` to the loop. Returns when the next poll begins, or nullopt if
  // the wait has ended.
  std::optional<nanoseconds> OnPoll(nanoseconds time, const Poll<>& found) {
    const MonotonicTime now(time);
    report_.last_poll = found;
    return NextPoll(loop_.OnPoll(now, gen_, Never), now);
  }

  bool IsReady(nanoseconds now) const { return now >= ready_; }
  bool Succeeded() const { return report_.reason == StopReason::kSuccess; }
  nanoseconds DelaySinceReady(nanoseconds now) const {
    return now - std::max(start_, ready_);
  }

 private:
  std::optional<nanoseconds> NextPoll(NextStep step, MonotonicTime now) {
    while (step.action() == NextStep::Action::kSleep) {
      now = step.wake_up();
      step = loop_.OnWake(now, Never);
    }
    if (step.action() == NextStep::Action::kFinish) return std::nullopt;
    return now.time_since_epoch();
  }

  std::shared_ptr<const WaitPolicy> policy_;
  SplitMix64 gen_;
  nanoseconds start_;
  nanoseconds ready_;
  WaitReport report_;
  WaitLoop loop_;
};

// Makes the policies of the clients. They share one, unless it has budgets:
// then each client gets its own.
class Policies {
 public:
  explicit Policies(const WaitOptions& options)
      : options_(options), shared_(WaitPolicy::Make(options)) {}

  std::shared_ptr<const WaitPolicy> Next() {
    if (options_.budgets.retry_quota == nullptr &&
        options_.budgets.rate_limiter == nullptr) {
      return shared_;
    }
    WaitOptions own = options_;
    if (own.budgets.retry_quota != nullptr) {
      own.budgets.retry_quota =
          *RetryQuota::Make(own.budgets.retry_quota->options());
    }
    if (own.budgets.rate_limiter != nullptr) {
      own.budgets.rate_limiter = own.budgets.rate_limiter->MakeAlike();
    }
    return WaitPolicy::Make(std::move(own));
  }

 private:
  const WaitOptions& options_;
  std::shared_ptr<const WaitPolicy> shared_;
};

absl::Status Invalid(std::string_view field, const absl::AlphaNum& value,
                     std::string_view range) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, " is ", value, "; it must be ", range));
}

absl::Status CheckPolicy(const FleetOptions& options) {
  const WaitOptions& policy = options.policy;
  if (absl::Status status = Validate(policy); !status.ok()) return status;
  if (policy.deadline.has_value() || policy.hooks.observer != nullptr ||
      policy.hooks.history_limit > 0 || policy.clock != nullptr ||
      policy.hooks.seed.has_value()) {
    return absl::InvalidArgumentError(
        "policy has a deadline, observer, history_limit, clock or seed; leave "
        "them unset, as a fleet has its own time and seed");
  }
  // A last poll may take up to a day beyond the deadline.
  const absl::Duration longest = absl::FromChrono(EventQueue::LatestTime(
                                     static_cast<size_t>(options.clients))) -
                                 options.start_spread - absl::Hours(24);
  if (!policy.timeout.has_value() || *policy.timeout > longest) {
    return Invalid(
        "policy.timeout",
        absl::FormatDuration(policy.timeout.value_or(absl::InfiniteDuration())),
        absl::StrCat("at most ", absl::FormatDuration(longest),
                     ", the longest that can be simulated for ",
                     options.clients, " clients"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Validate(const FleetOptions& options) {
  if (options.clients < 1 || options.clients > kMaxClients) {
    return Invalid("clients", options.clients,
                   absl::StrCat("between 1 and ", kMaxClients));
  }
  if (options.start_spread < absl::ZeroDuration() ||
      options.start_spread > absl::Hours(1)) {
    return Invalid("start_spread", absl::FormatDuration(options.start_spread),
                   "between 0 and 1h");
  }
  // The condition is written so that NaN fails it.
  if (!(options.server.polls_per_second > 0)) {
    return Invalid("server.polls_per_second", options.server.polls_per_second,
                   "above zero");
  }
  if (options.server.retry_after < absl::ZeroDuration()) {
    return Invalid("server.retry_after",
                   absl::FormatDuration(options.server.retry_after),
                   "zero or more");
  }
  if (absl::Status status = Validate(options.network); !status.ok()) {
    return status;
  }
  if (options.network.mean == absl::ZeroDuration()) {
    return Invalid("network.mean", "0", "above zero");
  }
  return CheckPolicy(options);
}

absl::Duration FleetRun::DetectionDelay(double quantile) const {
  if (detection_delays.empty()) return absl::InfiniteDuration();
  return Quantile(detection_delays, quantile);
}

absl::StatusOr<FleetRun> SimulateFleet(const FleetOptions& options,
                                       uint64_t seed) {
  if (absl::Status status = Validate(options); !status.ok()) return status;

  SplitMix64 gen(seed);
  NetworkDelay network(options.network);
  const nanoseconds shared_ready =
      absl::ToChronoNanoseconds(options.ready_after.Draw(gen));
  Policies policies(options.policy);
  std::deque<Client> clients;  // A deque, as clients cannot move.
  std::vector<nanoseconds> arrivals;
  FleetRun run;
  const auto schedule = [&](nanoseconds start) {
    nanoseconds ready = shared_ready;
    if (options.readiness == FleetOptions::Readiness::kOwn) {
      ready = (SaturatingAdd(
                   MonotonicTime(start),
                   absl::ToChronoNanoseconds(options.ready_after.Draw(gen))))
                  .time_since_epoch();
    }
    clients.emplace_back(policies.Next(), SplitMix64(gen()), start, ready);
    if (const auto first_poll = clients.back().Start()) {
      arrivals.push_back(*first_poll + network.Draw(gen));
    } else {
      clients.pop_back();
      ++run.gave_up;
    }
  };
  for (int i = 0; i < options.clients; ++i) {
    schedule(absl::ToChronoNanoseconds(options.start_spread *
                                       absl::Uniform(gen, 0.0, 1.0)));
  }

  // Only the server is shared, so the events are the arrivals of polls there.
  Server server(options.server);
  for (EventQueue queue(arrivals); !queue.empty();) {
    const nanoseconds now = queue.time();
    Client& client = clients[queue.client()];
    const Poll<> found = server.Answer(now, client.IsReady(now));
    const auto second = static_cast<size_t>(now / std::chrono::seconds(1));
    if (second >= run.seconds.size()) run.seconds.resize(second + 1);
    const bool is_throttled = found.status() == PollStatus::kThrottled;
    run.Add(is_throttled);
    run.seconds[second].Add(is_throttled);

    const nanoseconds answered = now + network.Draw(gen);
    if (const auto next_poll = client.OnPoll(answered, found)) {
      queue.Reschedule(*next_poll + network.Draw(gen));
      continue;
    }
    if (client.Succeeded()) {
      run.detection_delays.push_back(
          absl::FromChrono(client.DelaySinceReady(answered)));
    } else {
      ++run.gave_up;
    }
    queue.Remove();
  }
  std::sort(run.detection_delays.begin(), run.detection_delays.end());
  return run;
}

}  // namespace waiter::sim
